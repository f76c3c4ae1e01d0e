@testable import NightjarHTTP

/// Test cases for RFC 9112 sections 2 to 9.
extension ResponseCase {
    static let all = statusLines + fieldLines + framings + chunks + connections

    static let statusLines = [
        ResponseCase(
            "a status line with its reason",
            wire: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", ["404 Not Found", "end, reusable"]),
        ResponseCase(
            "an empty reason", wire: "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", ["200 ", "end, reusable"]),
        ResponseCase(
            "an empty reason without its space", wire: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
            ["200 ", "end, reusable"]),
        ResponseCase(
            "a reason with tab and obs-text",
            wire: "HTTP/1.1 200 Tr\u{E8}s\tbien\r\nContent-Length: 0\r\n\r\n",
            ["200 Tr\u{E8}s\tbien", "end, reusable"]),
        ResponseCase(
            "an undefined status", wire: "HTTP/1.1 799 Odd\r\nContent-Length: 0\r\n\r\n",
            ["799 Odd", "end, reusable"]),
        ResponseCase(
            "a minor version above 1 is read as 1", wire: "HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n",
            nio: .differs("RFC 9110 section 2.5: a higher minor version is read as HTTP/1.1"),
            ["200 OK", "end, reusable"]),
        ResponseCase(
            "HTTP/2", wire: "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", ["protocol: did not respond with HTTP/1"]),
        ResponseCase(
            "another protocol", wire: "SSH-2.0-OpenSSH_9.2\r\n", ["protocol: \"S"]),
        ResponseCase("a TLS alert", bytes: [0x15, 3, 1, 0, 2, 2, 70], ["protocol: \\x15"]),
        ResponseCase(
            "HTTP/0.9, which has no head", wire: "<html>hello</html>", closes: true,
            ["protocol: did not respond with HTTP/1"]),
        ResponseCase(
            "an empty line before the status line", wire: "\r\nHTTP/1.1 200 OK\r\n\r\n",
            nio: .differs("RFC 9112 section 2.2: only servers may skip an empty line, before a request"),
            ["protocol: did not respond with HTTP/1"]),
        ResponseCase("lower case http", wire: "http/1.1 200 OK\r\n\r\n", ["protocol: did not respond with HTTP/1"]),
        ResponseCase("no minor version", wire: "HTTP/1. 200 OK\r\n\r\n", ["protocol: status line"]),
        ResponseCase("two spaces before the status", wire: "HTTP/1.1  200 OK\r\n\r\n", ["protocol: three digits"]),
        ResponseCase(
            "a tab before the status", wire: "HTTP/1.1\t200 OK\r\n\r\n",
            ["protocol: must have a version, a space and a status"]),
        ResponseCase("a status of two digits", wire: "HTTP/1.1 20 OK\r\n\r\n", ["protocol: three digits"]),
        ResponseCase(
            "a status of four digits", wire: "HTTP/1.1 2000 OK\r\n\r\n", ["protocol: is not followed by a space"]),
        ResponseCase(
            "a status below 100", wire: "HTTP/1.1 099 Low\r\n\r\n",
            nio: .differs("RFC 9110 section 15: the first digit is the class, and there is no class 0"),
            ["protocol: status 99"]),
        ResponseCase("a status with a sign", wire: "HTTP/1.1 +20 OK\r\n\r\n", ["protocol: three digits"]),
        ResponseCase(
            "a status line of one word", wire: "HTTP/1.1\r\n\r\n",
            ["protocol: must have a version, a space and a status"]),
        ResponseCase(
            "a status line that ends in LF", wire: "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n",
            ["protocol: LF without CR"]),
        ResponseCase("a bare CR in the reason", wire: "HTTP/1.1 200 O\rK\r\n\r\n", ["protocol: control character"]),
        ResponseCase(
            "a NUL in the reason", wire: "HTTP/1.1 200 O\0K\r\n\r\n",
            nio: .differs("RFC 9112 section 4: a reason has no control character"), ["protocol: control character"]),
        ResponseCase(
            "a DEL in the reason", wire: "HTTP/1.1 200 O\u{7F}K\r\n\r\n",
            nio: .differs("RFC 9112 section 4: a reason has no control character"), ["protocol: control character"]),
    ]

    private static let fold = "RFC 9112 section 5.2: a user agent replaces the fold with a space"

    static let fieldLines = [
        ResponseCase(
            "fields with and without blanks around the value",
            wire: "HTTP/1.1 200 OK\r\nA:1\r\nB: \t 2 \t\r\nEmpty:\r\nBlank:  \r\nContent-Length: 0\r\n\r\n",
            ["200 OK", "end, reusable"]),
        ResponseCase("no fields", wire: "HTTP/1.1 204 No Content\r\n\r\n", ["204 No Content", "end, reusable"]),
        ResponseCase(
            "a folded line", wire: "HTTP/1.1 200 OK\r\nA: 1\r\n 2\r\nContent-Length: 0\r\n\r\n",
            nio: .differs(fold), ["200 OK", "end, reusable"]),
        ResponseCase(
            "a line folded by a tab", wire: "HTTP/1.1 200 OK\r\nA: 1\r\n\t2\r\nContent-Length: 0\r\n\r\n",
            nio: .differs(fold), ["200 OK", "end, reusable"]),
        ResponseCase(
            "a fold before the value of Content-Length",
            wire: "HTTP/1.1 200 OK\r\nContent-Length:\r\n \t1\r\n\r\nx", nio: .differs(fold),
            ["200 OK", "< x", "end, reusable"]),
        ResponseCase(
            "a fold inside the value of Content-Length",
            wire: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 0\r\n\r\nx",
            ["protocol: \"1 0\" is not a number"]),
        ResponseCase(
            "a fold with a bare CR", wire: "HTTP/1.1 200 OK\r\nA: 1\r\n 2\r3\r\n\r\n",
            ["protocol: control character 0xd"]),
        ResponseCase(
            "a fold that ends in LF", wire: "HTTP/1.1 200 OK\r\nA: 1\r\n 2\n\r\n", ["protocol: LF without CR"]),
        ResponseCase(
            "a blank before the first field", wire: "HTTP/1.1 200 OK\r\n A: 1\r\n\r\n",
            ["protocol: no value to continue"]),
        ResponseCase(
            "a space before the colon", wire: "HTTP/1.1 200 OK\r\nA : 1\r\n\r\n",
            ["protocol: white space instead of a colon follows the header name \"A\""]),
        ResponseCase(
            "a tab before the colon", wire: "HTTP/1.1 200 OK\r\nA\t: 1\r\n\r\n",
            ["protocol: white space instead of a colon follows the header name \"A\""]),
        ResponseCase("no name", wire: "HTTP/1.1 200 OK\r\n: 1\r\n\r\n", ["protocol: no name"]),
        ResponseCase("no colon", wire: "HTTP/1.1 200 OK\r\nAbc\r\n\r\n", ["protocol: no colon"]),
        ResponseCase(
            "a name with a quote", wire: "HTTP/1.1 200 OK\r\nA\"b: 1\r\n\r\n",
            ["protocol: after \"A\" is not allowed in a header name"]),
        ResponseCase("a name in UTF-8", wire: "HTTP/1.1 200 OK\r\n\u{E9}: 1\r\n\r\n", ["protocol: in a header name"]),
        ResponseCase("a name with a NUL", wire: "HTTP/1.1 200 OK\r\nA\0: 1\r\n\r\n", ["protocol: in a header name"]),
        ResponseCase("a bare CR in a value", wire: "HTTP/1.1 200 OK\r\nA: 1\rB: 2\r\n\r\n", ["protocol: bare CR"]),
        ResponseCase("two CR before LF", wire: "HTTP/1.1 200 OK\r\nA: 1\r\r\n\r\n", ["protocol: bare CR"]),
        ResponseCase(
            "a field line that ends in LF", wire: "HTTP/1.1 200 OK\r\nA: 1\nB: 2\r\n\r\n", ["protocol: LF without CR"]),
        ResponseCase(
            "an empty line that ends in LF", wire: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\n",
            ["protocol: LF without CR"]),
        ResponseCase(
            "a CR without LF after the head", wire: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\rX\n",
            ["protocol: no colon"]),
        ResponseCase(
            "a NUL in a value", wire: "HTTP/1.1 200 OK\r\nA: 1\0\r\n\r\n", ["protocol: control character 0x0"]),
        ResponseCase(
            "an escape in a value", wire: "HTTP/1.1 200 OK\r\nLong-enough: 12345678\u{1B}\r\n\r\n",
            ["protocol: control character 0x1b"]),
        ResponseCase(
            "a DEL in a value", wire: "HTTP/1.1 200 OK\r\nA: \u{7F}\r\n\r\n", ["protocol: control character 0x7f"]),
        ResponseCase(
            "obs-text in a value",
            bytes: Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: ".utf8) + [0xE9, 0xFF, 0x80]
                + Array("\r\n\r\n".utf8), ["200 OK", "end, reusable"]),
    ]

    static let framings = [
        ResponseCase(
            "a length", wire: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            ["200 OK", "< hello", "end, reusable"]),
        ResponseCase(
            "a length in another case with blanks and zeros",
            wire: "HTTP/1.1 200 OK\r\ncOnTeNt-LeNgTh: \t005 \r\n\r\nhello",
            ["200 OK", "< hello", "end, reusable"]),
        ResponseCase(
            "a length of 0", wire: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ["200 OK", "end, reusable"]),
        ResponseCase(
            "equal repeated lengths", wire: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            nio: .differs("RFC 9110 section 8.6: equal lengths are one length"), ["200 OK", "< hello", "end, reusable"]),
        ResponseCase(
            "different repeated lengths",
            wire: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", ["protocol: more than once"]
        ),
        ResponseCase(
            "a list of equal lengths", wire: "HTTP/1.1 200 OK\r\nContent-Length: 5, 5,5\r\n\r\nhello",
            nio: .differs("RFC 9110 section 8.6: equal lengths are one length"), ["200 OK", "< hello", "end, reusable"]),
        ResponseCase(
            "a list of different lengths", wire: "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello",
            ["protocol: more than once"]),
        ResponseCase(
            "a list of lengths with an empty item", wire: "HTTP/1.1 200 OK\r\nContent-Length: 5,,5\r\n\r\nhello",
            ["protocol: \"5,,5\" is not a number"]),
        ResponseCase(
            "a length and a list of equal lengths",
            wire: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5, 5\r\n\r\nhello",
            nio: .differs("RFC 9110 section 8.6: equal lengths are one length"), ["200 OK", "< hello", "end, reusable"]),
        ResponseCase(
            "a length after an invalid length",
            wire: "HTTP/1.1 200 OK\r\nContent-Length: x\r\nContent-Length: 5\r\n\r\nhello",
            ["protocol: \"x\" is not a number"]),
        ResponseCase(
            "a length with a sign", wire: "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
            ["protocol: \"+5\" is not a number"]),
        ResponseCase(
            "a negative length", wire: "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
            ["protocol: \"-5\" is not a number"]),
        ResponseCase(
            "a hexadecimal length", wire: "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello",
            ["protocol: \"0x5\" is not a number"]),
        ResponseCase(
            "an empty length", wire: "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello",
            ["protocol: \"\" is not a number"]),
        ResponseCase(
            "a length with a space inside", wire: "HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\nhello",
            ["protocol: \"5 5\" is not a number"]),
        ResponseCase(
            "the largest length", wire: "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhello",
            ["200 OK", "< hello"]),
        ResponseCase(
            "a length over 63 bits", wire: "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nhello",
            nio: .differs("Nightjar accepts 63 bits, NIO 64 bits"), ["protocol: is not a number"]),
        ResponseCase(
            "a length over 64 bits", wire: "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551621\r\n\r\nhello",
            ["protocol: is not a number"]),
        ResponseCase(
            "length and chunked",
            wire: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ["protocol: both Content-Length and Transfer-Encoding"]),
        ResponseCase(
            "chunked and length",
            wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            ["protocol: both Content-Length and Transfer-Encoding"]),
        ResponseCase(
            "chunked in HTTP/1.0", wire: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            nio: .differs("RFC 9112 section 6.1: the framing must be treated as faulty"),
            ["protocol: HTTP/1.0 but has Transfer-Encoding"]),
        ResponseCase(
            "an unknown final coding", wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", closes: true,
            nio: .differs("the coding was not requested; NIO passes on the encoded content"),
            ["protocol: \"gzip\" was not requested"]),
        ResponseCase(
            "a coding before chunked", wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            nio: .differs("the coding was not requested"), ["protocol: \"gzip, chunked\" was not requested"]),
        ResponseCase(
            "a coding after chunked", wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\nhello",
            closes: true,
            nio: .differs("the coding was not requested"), ["protocol: was not requested"]),
        ResponseCase(
            "identity, which is obsolete", wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nhello",
            closes: true,
            nio: .differs("the coding was not requested"), ["protocol: was not requested"]),
        ResponseCase(
            "a coding that looks like chunked", wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            closes: true,
            nio: .differs("the coding was not requested"), ["protocol: was not requested"]),
        ResponseCase(
            "chunked twice",
            wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            nio: .differs("RFC 9112 section 6.1: chunked must not be applied twice"), ["protocol: more than once"]),
        ResponseCase(
            "HEAD has no content", to: .head, wire: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            ["200 OK", "end, reusable"]),
        ResponseCase(
            "HEAD with Transfer-Encoding", to: .head, wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            ["200 OK", "end, reusable"]),
        ResponseCase("HEAD without framing", to: .head, wire: "HTTP/1.1 200 OK\r\n\r\n", ["200 OK", "end, reusable"]),
        ResponseCase(
            "204 has no content", wire: "HTTP/1.1 204 No Content\r\n\r\n", ["204 No Content", "end, reusable"]),
        ResponseCase(
            "204 that announces content ends the connection",
            wire: "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", ["204 No Content", "end"]),
        ResponseCase(
            "204 with a length of 0", wire: "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
            ["204 No Content", "end, reusable"]),
        ResponseCase(
            "304 has the length of the omitted content",
            wire: "HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\n\r\n", ["304 Not Modified", "end, reusable"]),
        ResponseCase(
            "content until the connection closes", wire: "HTTP/1.1 200 OK\r\n\r\nhello", closes: true,
            ["200 OK", "< hello", "end"]),
        ResponseCase(
            "no content until the connection closes", wire: "HTTP/1.1 200 OK\r\n\r\n", closes: true, ["200 OK", "end"]),
        ResponseCase(
            "truncated content", wire: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", closes: true,
            ["200 OK", "< hello", "connection_lost: 1 bytes before the end"]),
        ResponseCase(
            "truncated chunks", wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            closes: true, ["200 OK", "< hello", "connection_lost: before the end of the chunked response body"]),
        ResponseCase(
            "a truncated head", wire: "HTTP/1.1 200 OK\r\nContent-Le", closes: true,
            ["connection_lost: in the middle of the response head"]),
        ResponseCase(
            "a truncated status line", wire: "HTTP/1", closes: true,
            ["connection_lost: in the middle of the response head"]),
        ResponseCase(
            "no response", wire: "", closes: true,
            nio: .differs("NIO does not report a missing response"),
            ["connection_lost: before it responded"]),
    ]

    private static let trailers = "RFC 9110 section 6.5.1: the field is not allowed in trailers"

    static let chunks = [
        ResponseCase(
            "chunks", wire: chunked + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
            ["200 OK", "< hello world", "end, reusable"]),
        ResponseCase("only the last chunk", wire: chunked + "0\r\n\r\n", ["200 OK", "end, reusable"]),
        ResponseCase(
            "hexadecimal sizes in both cases, with zeros",
            wire: chunked + "00a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n",
            ["200 OK", "< 01234567890123456789", "end, reusable"]),
        ResponseCase(
            "chunk data that looks like framing", wire: chunked + "7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n",
            ["200 OK", "< \r\n0\r\n\r\n", "end, reusable"]),
        ResponseCase(
            "trailers", wire: chunked + "1\r\nx\r\n0\r\nDigest: abc\r\nServer-Timing: db;dur=1\r\n\r\n",
            ["200 OK", "< x", "+ Digest: abc", "+ Server-Timing: db;dur=1", "end, reusable"]),
        ResponseCase(
            "extensions are ignored", wire: chunked + "1;a=b;c=\"d\"\r\nx\r\n0;last\r\n\r\n",
            ["200 OK", "< x", "end, reusable"]),
        ResponseCase(
            "blanks before an extension", wire: chunked + "1 \t;a\r\nx\r\n0\r\n\r\n",
            nio: .differs("RFC 9112 section 7.1.1: BWS is allowed here and must be removed"),
            ["200 OK", "< x", "end, reusable"]),
        ResponseCase(
            "an empty size", wire: chunked + "\r\nx\r\n0\r\n\r\n", ["200 OK", "protocol: not a hexadecimal number"]),
        ResponseCase(
            "an extension without a size", wire: chunked + ";a\r\nx\r\n0\r\n\r\n",
            ["200 OK", "protocol: not a hexadecimal number"]),
        ResponseCase(
            "a size with a sign", wire: chunked + "+1\r\nx\r\n0\r\n\r\n",
            ["200 OK", "protocol: not a hexadecimal number"]),
        ResponseCase(
            "a negative size", wire: chunked + "-1\r\nx\r\n0\r\n\r\n",
            ["200 OK", "protocol: not a hexadecimal number"]),
        ResponseCase(
            "a size with 0x", wire: chunked + "0x1\r\nx\r\n0\r\n\r\n",
            ["200 OK", "protocol: not a hexadecimal number"]),
        ResponseCase(
            "a space before the size", wire: chunked + " 1\r\nx\r\n0\r\n\r\n",
            ["200 OK", "protocol: not a hexadecimal number"]),
        ResponseCase(
            "a space after the size", wire: chunked + "1 \r\nx\r\n0\r\n\r\n",
            ["200 OK", "protocol: not a hexadecimal number"]),
        ResponseCase(
            "an invalid size", wire: chunked + "hello\r\n", ["200 OK", "protocol: not a hexadecimal number"]),
        ResponseCase(
            "a size over 63 bits", wire: chunked + "8000000000000000\r\nx",
            nio: .differs("Nightjar accepts 63 bits, NIO 64 bits"),
            ["200 OK", "protocol: exceeds 2^63 - 1 bytes"]),
        ResponseCase(
            "a size over 64 bits, which wraps to 1", wire: chunked + "10000000000000001\r\nx\r\n0\r\n\r\n",
            ["200 OK", "protocol: exceeds 2^63 - 1 bytes"]),
        ResponseCase("the largest size", wire: chunked + "7fffffffffffffff\r\nx", ["200 OK", "< x"]),
        ResponseCase(
            "a size line that ends in LF", wire: chunked + "1\nx\r\n0\r\n\r\n",
            ["200 OK", "protocol: not a hexadecimal number"]),
        ResponseCase(
            "an extension with a bare CR", wire: chunked + "1;a\rb\r\nx\r\n0\r\n\r\n",
            ["200 OK", "protocol: not a hexadecimal number"]),
        ResponseCase(
            "an extension that ends in LF", wire: chunked + "1;a\nx\r\n0\r\n\r\n",
            ["200 OK", "protocol: not a hexadecimal number"]),
        ResponseCase(
            "more data than the size", wire: chunked + "1\r\nxy\r\n0\r\n\r\n",
            ["200 OK", "< x", "protocol: does not end at its declared size"]),
        ResponseCase(
            "less data than the size", wire: chunked + "3\r\nxy\r\n0\r\n\r\n",
            ["200 OK", "< xy\r", "protocol: does not end at its declared size"]),
        ResponseCase(
            "LF without CR after the data", wire: chunked + "1\r\nx\n0\r\n\r\n",
            ["200 OK", "< x", "protocol: does not end at its declared size"]),
        ResponseCase(
            "Content-Length in the trailers is dropped", wire: chunked + "0\r\nContent-Length: 5\r\nA: 1\r\n\r\n",
            nio: .differs(trailers), ["200 OK", "+ A: 1", "end, reusable"]),
        ResponseCase(
            "invalid lengths in the trailers are dropped",
            wire: chunked + "0\r\nContent-Length: x\r\ncontent-length: -1\r\n\r\n",
            nio: .differs(trailers), ["200 OK", "end, reusable"]),
        ResponseCase(
            "connection and content fields in the trailers are dropped",
            wire: chunked + "0\r\nConnection: close\r\nHost: h\r\nContent-Type: a/b\r\nA: 1\r\n\r\n",
            nio: .differs(trailers), ["200 OK", "+ A: 1", "end, reusable"]),
        ResponseCase(
            "Transfer-Encoding in the trailers is dropped", wire: chunked + "0\r\nTransfer-Encoding: chunked\r\n\r\n",
            nio: .differs(trailers), ["200 OK", "end, reusable"]),
        ResponseCase(
            "a folded trailer", wire: chunked + "0\r\nA: 1\r\n 2\r\n\r\n", nio: .differs(fold),
            ["200 OK", "+ A: 1 2", "end, reusable"]),
    ]

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"

    static let connections = [
        ResponseCase(
            "close", wire: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", ["200 OK", "end"]),
        ResponseCase(
            "close in a list in another case",
            wire: "HTTP/1.1 200 OK\r\nConnection: x , CLOSE\r\nContent-Length: 0\r\n\r\n", ["200 OK", "end"]),
        ResponseCase(
            "close in a second field",
            wire: "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            ["200 OK", "end"]),
        ResponseCase(
            "a token that only begins with close",
            wire: "HTTP/1.1 200 OK\r\nConnection: closed\r\nContent-Length: 0\r\n\r\n", ["200 OK", "end, reusable"]),
        ResponseCase(
            "HTTP/1.0 closes", wire: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", ["200 OK", "< x", "end"]),
        ResponseCase(
            "HTTP/1.0 with keep-alive stays open",
            wire: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx",
            ["200 OK", "< x", "end, reusable"]),
        ResponseCase(
            "interim responses",
            wire:
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            ["100 Continue", "103 Early Hints", "200 OK", "< x", "end, reusable"]),
        ResponseCase(
            "close in an interim response is ignored",
            wire: "HTTP/1.1 103 Early Hints\r\nConnection: close\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            nio: .differs("the field applies to the final response; NIO stops at the interim response"),
            ["103 Early Hints", "200 OK", "end, reusable"]),
        ResponseCase(
            "an interim response has no content",
            wire: "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            ["100 Continue", "200 OK", "end, reusable"]),
        ResponseCase(
            "an interim response without a final response", wire: "HTTP/1.1 100 Continue\r\n\r\n", closes: true,
            nio: .differs("NIO does not report a missing response"),
            ["100 Continue", "connection_lost: after an interim response"]),
        ResponseCase(
            "101 without a request for an upgrade", wire: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            nio: .differs("the client never requests an upgrade"), ["protocol: switched protocols"]),
        ResponseCase(
            "bytes after the end", wire: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n",
            nio: .differs("NIO drops the bytes"),
            ["200 OK", "< x", "end, reusable", "protocol: belong to no response: \"H"]),
        ResponseCase(
            "content after a 204", wire: "HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\nx",
            ["204 No Content", "end", "protocol: belong to no response: \"x"]),
        ResponseCase(
            "two responses", to: .head, .get,
            wire: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            ["200 OK", "end, reusable", "200 OK", "< x", "end, reusable"]),
    ]
}
