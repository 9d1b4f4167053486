import HTTP
import Loop
import TestSupport
import Testing

/// Pages of other origins (CORS).
struct CrossOriginTests {
    @Test(
        arguments: [
            ("https://app.example.com", "https://app.example.com"),
            ("HTTPS://App.Example.com:443", "https://app.example.com"),
            ("http://localhost:8000", "http://localhost:8000"), ("http://[::1]:80", "http://[::1]"),
            ("http://a:8080", "http://a:8080"), ("https://a:80", "https://a:80"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
            ("*", nil), ("null", nil), ("https://*", nil), ("https://*.example.com", nil),
            ("https://a/", nil), ("https://a/b", nil), ("https://u@a", nil), ("https://", nil),
            ("a.example", nil), ("//a", nil), ("", nil), ("1a://b", nil), ("https://ä", nil),
        ] as [(String, String?)])
    func `an origin is a scheme, a host and perhaps a port`(text: String, origin: String?) {
        #expect(CrossOrigin.origin(parsing: text) == origin)
    }
}
