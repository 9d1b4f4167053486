import JSON
import Testing

/// The bytes of a text.
func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

/// What reading the text as a tree comes to.
func parse(
    _ bytes: [UInt8], limits: JSONReader.Limits = JSONReader.Limits()
) -> Result<JSONValue, JSONError> {
    Result { () throws(JSONError) in try JSONValue(parsing: bytes, limits: limits) }
}

func parse(_ text: String) -> Result<JSONValue, JSONError> { parse(utf8(text)) }

/// The error of reading the text with `body`; nil when it is read.
func refusal<Value>(
    _ text: String, _ body: (inout JSONReader) throws(JSONError) -> Value
) -> JSONError? {
    do throws(JSONError) {
        _ = try JSONReader.read(utf8(text), body)
        return nil
    } catch {
        return error
    }
}

/// The text that `body` writes.
func written(_ body: (inout JSONWriter) -> Void) -> String {
    var json = JSONWriter(capacity: 1)
    body(&json)
    return String(decoding: json.finish(), as: UTF8.self)
}

extension JSONReader {
    /// Reads a value in the plainest way, as the closures of the tests want it.
    static func skipAll(_ bytes: [UInt8]) throws(JSONError) {
        try read(bytes) { reader throws(JSONError) in try reader.skipValue() }
    }
}
