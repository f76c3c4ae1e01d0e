import Glibc

/// The version of HTTP for the tests of the whole client: HTTP/2 if the environment variable NIGHTJAR_TEST_HTTP is `2`, and
/// otherwise HTTP/1.1.
public enum TestHTTP {
    public static let isHTTP2 = getenv("NIGHTJAR_TEST_HTTP").map { String(cString: $0) } == "2"
}
