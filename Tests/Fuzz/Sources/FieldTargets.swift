import JSON
import Syntax

@testable import Curl
@testable import Engine
@testable import Semantics

/// What is read is read again out of what is written of it.
@Sendable func fuzzJSON(_ input: UnsafeRawBufferPointer) {
    guard let value = try? JSONValue(parsing: Array(input)) else { return }
    var json = JSONWriter()
    value.write(to: &json)
    let written = json.finish()
    precondition((try? JSONValue(parsing: written)) == value, "a value is not read again")
}

@Sendable func fuzzSetCookie(_ input: UnsafeRawBufferPointer) {
    guard let cookie = try? SetCookie(parsing: input.text) else { return }
    precondition(!cookie.name.isEmpty, "a cookie has no name")
    precondition(
        cookie.name.utf8.count + cookie.value.utf8.count <= SetCookie.byteLimit, "it is too long")
}

@Sendable func fuzzCacheControl(_ input: UnsafeRawBufferPointer) {
    let control = CacheControl(of: HeaderList([HeaderField("Cache-Control", input.text)]))
    for directive in control.directives {
        precondition(control.has(directive.name), "a directive is not found")
        if case .value(let seconds) = control.seconds(directive.name) {
            precondition((0...1 << 31).contains(seconds), "seconds are out of range")
        }
    }
}

@Sendable func fuzzAuthenticate(_ input: UnsafeRawBufferPointer) {
    for challenge in AuthenticateField(parsing: input.text).challenges {
        precondition(!challenge.scheme.isEmpty, "a challenge has no scheme")
    }
}

/// Whatever is suggested is the name of a file in its folder.
@Sendable func fuzzDisposition(_ input: UnsafeRawBufferPointer) {
    guard let url = try? URLReader.parse("http://h/") else { fatalError("no URL is read") }
    let name = SuggestedFilename.choose(
        contentDisposition: input.text, url: url, mimeType: "text/plain")
    precondition((1...SuggestedFilename.byteLimit).contains(name.utf8.count), "\(name)")
    precondition(!name.utf8.contains(UInt8(ascii: "/")) && !name.utf8.contains(0), "\(name)")
    precondition(name != "." && name != ".." && !name.hasPrefix("."), "\(name)")
}

/// A body is taken apart the same way however it arrives.
@Sendable func fuzzMultipart(_ input: UnsafeRawBufferPointer) {
    precondition(parts(of: input, in: input.count) == parts(of: input, in: 1), "pieces differ")
}

private func parts(of input: UnsafeRawBufferPointer, in pieceSize: Int) -> [String] {
    guard
        var reader = MixedReplaceReader(contentType: "multipart/x-mixed-replace; boundary=b")
    else { fatalError("no reader for its type") }
    var found: [String] = []
    var body: [UInt8] = []
    func note(_ piece: MixedReplaceReader.Piece?, _ bytes: UnsafeRawBufferPointer) {
        switch piece {
        case nil: break
        case .body(let range): body += bytes[range]
        case .heldBody(let held): body += held
        case .head, .end, .malformed:
            found += ["\(body)", "\(String(describing: piece))"]
            body = []
        }
    }
    var start = 0
    while start < input.count {
        let piece = UnsafeRawBufferPointer(
            rebasing: input[start..<min(input.count, start + max(1, pieceSize))])
        let (next, consumed) = reader.next(piece)
        note(next, piece)
        start += consumed
        if consumed == 0, next == nil { break }
    }
    note(reader.finish(), input)
    return found + ["\(body)"]
}

/// Resume data is sealed, so nobody but the gateway can write any: what is fuzzed is what stands
/// inside.
@Sendable func fuzzResumeData(_ input: UnsafeRawBufferPointer) {
    let tenant = TenantID(rawValue: 1)
    let blob = Base64.url.text(of: Array(input))
    guard
        let data = ResumeData(
            blob, openedBy: OpenSealer(), for: tenant, parse: URLReader.parse)
    else { return }
    guard let again = try? data.sealed(by: OpenSealer(), for: tenant) else {
        fatalError("what was read is not written")
    }
    precondition(
        ResumeData(again, openedBy: OpenSealer(), for: tenant, parse: URLReader.parse) == data,
        "what was written is not read")
}

/// What one parser reads is read again as the same, and what needs no parser as by the parser.
@Sendable func fuzzURL(_ input: UnsafeRawBufferPointer) {
    let text = input.text
    if let url = try? URLReader.parseAnew(text) {
        let again = try? URLReader.parseAnew(url.string)
        precondition(again == url, "\(url.string) is read differently")
    }
    let origin = "http://h:8080"
    guard let root = try? URLReader.parseAnew(origin) else { fatalError("no URL is read") }
    guard let url = KnownOrigin(of: root).read(origin + text) else { return }
    precondition((try? URLReader.parseAnew(origin + text)) == url, "\(url) is read differently")
}

/// Seals nothing.
private struct OpenSealer: Sealer {
    func seal(_ bytes: [UInt8], for context: SealContext) -> [UInt8] { bytes }
    func mark(_ bytes: [UInt8], for context: SealContext) -> Int64 { 0 }
    func open(_ sealed: [UInt8], for context: SealContext) -> [UInt8] { sealed }
}
