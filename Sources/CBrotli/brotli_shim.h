#include <brotli/decode.h>
/* Who encodes links brotlienc: the library only decodes. */
#include <brotli/encode.h>
