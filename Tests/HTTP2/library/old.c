/* A libnghttp2 that lacks functions. */
const char *nghttp2_strerror(int error);
const char *nghttp2_strerror(int error) { return error ? "error" : "success"; }
