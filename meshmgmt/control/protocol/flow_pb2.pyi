import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Type(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TYPE_UNKNOWN: _ClassVar[Type]
    TYPE_START: _ClassVar[Type]
    TYPE_END: _ClassVar[Type]
    TYPE_DROP: _ClassVar[Type]

class Direction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIRECTION_UNKNOWN: _ClassVar[Direction]
    INGRESS: _ClassVar[Direction]
    EGRESS: _ClassVar[Direction]
TYPE_UNKNOWN: Type
TYPE_START: Type
TYPE_END: Type
TYPE_DROP: Type
DIRECTION_UNKNOWN: Direction
INGRESS: Direction
EGRESS: Direction

class FlowEvent(_message.Message):
    __slots__ = ("event_id", "timestamp", "public_key", "flow_fields", "isInitiator", "window_start", "window_end")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    FLOW_FIELDS_FIELD_NUMBER: _ClassVar[int]
    ISINITIATOR_FIELD_NUMBER: _ClassVar[int]
    WINDOW_START_FIELD_NUMBER: _ClassVar[int]
    WINDOW_END_FIELD_NUMBER: _ClassVar[int]
    event_id: bytes
    timestamp: _timestamp_pb2.Timestamp
    public_key: bytes
    flow_fields: FlowFields
    isInitiator: bool
    window_start: _timestamp_pb2.Timestamp
    window_end: _timestamp_pb2.Timestamp
    def __init__(self, event_id: _Optional[bytes] = ..., timestamp: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., public_key: _Optional[bytes] = ..., flow_fields: _Optional[_Union[FlowFields, _Mapping]] = ..., isInitiator: _Optional[bool] = ..., window_start: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., window_end: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class FlowEventAck(_message.Message):
    __slots__ = ("event_id", "isInitiator")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    ISINITIATOR_FIELD_NUMBER: _ClassVar[int]
    event_id: bytes
    isInitiator: bool
    def __init__(self, event_id: _Optional[bytes] = ..., isInitiator: _Optional[bool] = ...) -> None: ...

class FlowFields(_message.Message):
    __slots__ = ("flow_id", "type", "rule_id", "direction", "protocol", "source_ip", "dest_ip", "port_info", "icmp_info", "rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "source_resource_id", "dest_resource_id", "num_of_starts", "num_of_ends", "num_of_drops")
    FLOW_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_IP_FIELD_NUMBER: _ClassVar[int]
    DEST_IP_FIELD_NUMBER: _ClassVar[int]
    PORT_INFO_FIELD_NUMBER: _ClassVar[int]
    ICMP_INFO_FIELD_NUMBER: _ClassVar[int]
    RX_PACKETS_FIELD_NUMBER: _ClassVar[int]
    TX_PACKETS_FIELD_NUMBER: _ClassVar[int]
    RX_BYTES_FIELD_NUMBER: _ClassVar[int]
    TX_BYTES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_RESOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    DEST_RESOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    NUM_OF_STARTS_FIELD_NUMBER: _ClassVar[int]
    NUM_OF_ENDS_FIELD_NUMBER: _ClassVar[int]
    NUM_OF_DROPS_FIELD_NUMBER: _ClassVar[int]
    flow_id: bytes
    type: Type
    rule_id: bytes
    direction: Direction
    protocol: int
    source_ip: bytes
    dest_ip: bytes
    port_info: PortInfo
    icmp_info: ICMPInfo
    rx_packets: int
    tx_packets: int
    rx_bytes: int
    tx_bytes: int
    source_resource_id: bytes
    dest_resource_id: bytes
    num_of_starts: int
    num_of_ends: int
    num_of_drops: int
    def __init__(self, flow_id: _Optional[bytes] = ..., type: _Optional[_Union[Type, str]] = ..., rule_id: _Optional[bytes] = ..., direction: _Optional[_Union[Direction, str]] = ..., protocol: _Optional[int] = ..., source_ip: _Optional[bytes] = ..., dest_ip: _Optional[bytes] = ..., port_info: _Optional[_Union[PortInfo, _Mapping]] = ..., icmp_info: _Optional[_Union[ICMPInfo, _Mapping]] = ..., rx_packets: _Optional[int] = ..., tx_packets: _Optional[int] = ..., rx_bytes: _Optional[int] = ..., tx_bytes: _Optional[int] = ..., source_resource_id: _Optional[bytes] = ..., dest_resource_id: _Optional[bytes] = ..., num_of_starts: _Optional[int] = ..., num_of_ends: _Optional[int] = ..., num_of_drops: _Optional[int] = ...) -> None: ...

class PortInfo(_message.Message):
    __slots__ = ("source_port", "dest_port")
    SOURCE_PORT_FIELD_NUMBER: _ClassVar[int]
    DEST_PORT_FIELD_NUMBER: _ClassVar[int]
    source_port: int
    dest_port: int
    def __init__(self, source_port: _Optional[int] = ..., dest_port: _Optional[int] = ...) -> None: ...

class ICMPInfo(_message.Message):
    __slots__ = ("icmp_type", "icmp_code")
    ICMP_TYPE_FIELD_NUMBER: _ClassVar[int]
    ICMP_CODE_FIELD_NUMBER: _ClassVar[int]
    icmp_type: int
    icmp_code: int
    def __init__(self, icmp_type: _Optional[int] = ..., icmp_code: _Optional[int] = ...) -> None: ...
