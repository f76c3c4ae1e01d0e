"""Declares with ctypes the functions of nightjar.h that the examples use. Needs no compiler."""

import ctypes
import os

lib = ctypes.CDLL(os.environ.get("NIGHTJAR_LIBRARY", "libnightjar.so.0"))

Done = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
Drained = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
Observer = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

_handle, _text, _out = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)
_signatures = {
    "nj_config_new": (_handle, []),
    "nj_config_free": (None, [_handle]),
    "nj_config_set_base_url": (ctypes.c_int, [_handle, _text]),
    "nj_client_new": (_handle, [_handle, _out]),
    "nj_client_free": (None, [_handle]),
    "nj_client_send": (_handle, [_handle, _handle, _out]),
    "nj_client_start": (_handle, [_handle, _handle, _handle, Done, _handle, _out]),
    "nj_client_start_drain": (_handle, [_handle, ctypes.c_double, _handle, Drained, _handle, _out]),
    "nj_request_new": (_handle, [_text, _text]),
    "nj_request_free": (None, [_handle]),
    "nj_request_add_query": (ctypes.c_int, [_handle, _text, _text]),
    "nj_response_status": (ctypes.c_int, [_handle]),
    "nj_response_header": (_text, [_handle, _text]),
    "nj_response_body": (_handle, [_handle, ctypes.POINTER(ctypes.c_size_t)]),
    "nj_response_release": (None, [_handle]),
    "nj_error_last": (_handle, []),
    "nj_error_kind": (ctypes.c_int, [_handle]),
    "nj_error_message": (_text, [_handle]),
    "nj_error_release": (None, [_handle]),
    "nj_status_name": (_text, [ctypes.c_int]),
    "nj_task_cancel": (None, [_handle]),
    "nj_task_release": (None, [_handle]),
    "nj_queue_new": (_handle, []),
    "nj_queue_free": (None, [_handle]),
    "nj_queue_fd": (ctypes.c_int, [_handle]),
    "nj_queue_poll": (ctypes.c_size_t, [_handle, ctypes.c_double]),
    "nj_resource_new": (_handle, [_handle, _handle, _text, ctypes.c_size_t, _handle, _out]),
    "nj_resource_free": (None, [_handle]),
    "nj_resource_observe": (_handle, [_handle, Observer, _handle, _out]),
    "nj_resource_observer_free": (None, [_handle]),
    "nj_client_invalidate": (ctypes.c_int, [_handle, _text]),
    "nj_snapshot_data": (_handle, [_handle]),
    "nj_snapshot_error": (_handle, [_handle]),
    "nj_snapshot_get_phase": (ctypes.c_int, [_handle]),
    "nj_snapshot_is_stale": (ctypes.c_bool, [_handle]),
    "nj_transfers_new": (_handle, [_text, _text, _out]),
    "nj_transfers_free": (None, [_handle]),
    "nj_transfers_start": (_handle, [_handle, _text, _text, ctypes.c_size_t, _out]),
    "nj_transfers_get": (_handle, [_handle, _text, _out]),
    "nj_transfers_next_ended": (_handle, [_handle, ctypes.c_double, _out]),
    "nj_transfers_wake": (ctypes.c_int, [_handle, _out]),
    "nj_transfers_acknowledge": (ctypes.c_int, [_handle, _text, _out]),
    "nj_transfer_id": (_text, [_handle]),
    "nj_transfer_get_state": (ctypes.c_int, [_handle]),
    "nj_transfer_path": (_text, [_handle]),
    "nj_transfer_transferred": (ctypes.c_int64, [_handle]),
    "nj_transfer_total": (ctypes.c_int64, [_handle]),
    "nj_transfer_rate": (ctypes.c_double, [_handle]),
    "nj_transfer_error": (_handle, [_handle]),
    "nj_transfer_free": (None, [_handle]),
}
for _name, (_result, _arguments) in _signatures.items():
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments


class NightjarError(Exception):
    """An error: its kind ("not_found") and its message."""

    def __init__(self, error):
        self.kind = lib.nj_status_name(lib.nj_error_kind(error)).decode()
        super().__init__(f"{self.kind}: {lib.nj_error_message(error).decode()}")


def raise_owned(error):
    """Raises and releases the error of an out_error parameter."""
    try:
        raise NightjarError(error)
    finally:
        lib.nj_error_release(error)


def raise_last():
    """Raises the error of the function without an out_error parameter, such as a setter, that has just failed."""
    raise NightjarError(lib.nj_error_last())


def body(response):
    """Returns the bytes of a response body."""
    length = ctypes.c_size_t()
    start = lib.nj_response_body(response, ctypes.byref(length))
    return ctypes.string_at(start, length.value)


class Snapshot:
    """A copy of a snapshot: its phase ("loaded"), the bytes of its data or None, its NightjarError or None, and is_stale."""

    PHASES = ("idle", "loading", "loaded", "failed")

    def __init__(self, snapshot):
        data, error = lib.nj_snapshot_data(snapshot), lib.nj_snapshot_error(snapshot)
        self.phase = self.PHASES[lib.nj_snapshot_get_phase(snapshot)]
        self.data = body(data) if data else None
        self.error = NightjarError(error) if error else None
        self.is_stale = lib.nj_snapshot_is_stale(snapshot)
