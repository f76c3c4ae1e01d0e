#include <brotli/decode.h>
/* A target that encodes must link brotlienc. The library only decodes. */
#include <brotli/encode.h>
