"""Fetches a URL and prints it: python3 get.py http://127.0.0.1:8080/v1/articles"""

import ctypes
import sys

from nightjar import body, lib, raise_owned

error = ctypes.c_void_p()
client = lib.nj_client_new(None, ctypes.byref(error)) or raise_owned(error)
request = lib.nj_request_new(b"GET", sys.argv[1].encode())
try:
    response = lib.nj_client_send(client, request, ctypes.byref(error)) or raise_owned(error)
    print(lib.nj_response_status(response), lib.nj_response_header(response, b"content-type").decode(), file=sys.stderr)
    sys.stdout.buffer.write(body(response))
    lib.nj_response_release(response)
finally:
    lib.nj_request_free(request)
    lib.nj_client_free(client)
