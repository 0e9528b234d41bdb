from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class EncryptedMessage(_message.Message):
    __slots__ = ("key", "remoteKey", "body")
    KEY_FIELD_NUMBER: _ClassVar[int]
    REMOTEKEY_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    key: str
    remoteKey: str
    body: bytes
    def __init__(self, key: _Optional[str] = ..., remoteKey: _Optional[str] = ..., body: _Optional[bytes] = ...) -> None: ...
