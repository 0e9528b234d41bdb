import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SendAccessLogRequest(_message.Message):
    __slots__ = ("log",)
    LOG_FIELD_NUMBER: _ClassVar[int]
    log: AccessLog
    def __init__(self, log: _Optional[_Union[AccessLog, _Mapping]] = ...) -> None: ...

class SendAccessLogResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AccessLog(_message.Message):
    __slots__ = ("timestamp", "log_id", "account_id", "service_id", "host", "path", "duration_ms", "method", "response_code", "source_ip", "auth_mechanism", "user_id", "auth_success", "bytes_upload", "bytes_download", "protocol", "metadata", "agent_network")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_ID_FIELD_NUMBER: _ClassVar[int]
    SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_CODE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_IP_FIELD_NUMBER: _ClassVar[int]
    AUTH_MECHANISM_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    AUTH_SUCCESS_FIELD_NUMBER: _ClassVar[int]
    BYTES_UPLOAD_FIELD_NUMBER: _ClassVar[int]
    BYTES_DOWNLOAD_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    AGENT_NETWORK_FIELD_NUMBER: _ClassVar[int]
    timestamp: _timestamp_pb2.Timestamp
    log_id: str
    account_id: str
    service_id: str
    host: str
    path: str
    duration_ms: int
    method: str
    response_code: int
    source_ip: str
    auth_mechanism: str
    user_id: str
    auth_success: bool
    bytes_upload: int
    bytes_download: int
    protocol: str
    metadata: _containers.ScalarMap[str, str]
    agent_network: bool
    def __init__(self, timestamp: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., log_id: _Optional[str] = ..., account_id: _Optional[str] = ..., service_id: _Optional[str] = ..., host: _Optional[str] = ..., path: _Optional[str] = ..., duration_ms: _Optional[int] = ..., method: _Optional[str] = ..., response_code: _Optional[int] = ..., source_ip: _Optional[str] = ..., auth_mechanism: _Optional[str] = ..., user_id: _Optional[str] = ..., auth_success: _Optional[bool] = ..., bytes_upload: _Optional[int] = ..., bytes_download: _Optional[int] = ..., protocol: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ..., agent_network: _Optional[bool] = ...) -> None: ...

class SyncMappingsRequest(_message.Message):
    __slots__ = ("init", "ack")
    INIT_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    init: SyncMappingsInit
    ack: SyncMappingsAck
    def __init__(self, init: _Optional[_Union[SyncMappingsInit, _Mapping]] = ..., ack: _Optional[_Union[SyncMappingsAck, _Mapping]] = ...) -> None: ...

class SyncMappingsInit(_message.Message):
    __slots__ = ("proxy_id", "version", "started_at", "address")
    PROXY_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    proxy_id: str
    version: str
    started_at: _timestamp_pb2.Timestamp
    address: str
    def __init__(self, proxy_id: _Optional[str] = ..., version: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., address: _Optional[str] = ...) -> None: ...

class SyncMappingsAck(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SyncMappingsResponse(_message.Message):
    __slots__ = ("mapping", "initial_sync_complete")
    MAPPING_FIELD_NUMBER: _ClassVar[int]
    INITIAL_SYNC_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    mapping: _containers.RepeatedCompositeFieldContainer[ProxyMapping]
    initial_sync_complete: bool
    def __init__(self, mapping: _Optional[_Iterable[_Union[ProxyMapping, _Mapping]]] = ..., initial_sync_complete: _Optional[bool] = ...) -> None: ...

class GetMappingUpdateRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetMappingUpdateResponse(_message.Message):
    __slots__ = ("mapping", "initial_sync_complete")
    MAPPING_FIELD_NUMBER: _ClassVar[int]
    INITIAL_SYNC_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    mapping: _containers.RepeatedCompositeFieldContainer[ProxyMapping]
    initial_sync_complete: bool
    def __init__(self, mapping: _Optional[_Iterable[_Union[ProxyMapping, _Mapping]]] = ..., initial_sync_complete: _Optional[bool] = ...) -> None: ...

class ProxyMapping(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
