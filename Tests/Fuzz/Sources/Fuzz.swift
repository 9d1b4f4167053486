import Glibc

/// What is fuzzed, by the name that `FERRY_FUZZ_TARGET` chooses: one program for all, as building
/// them takes longer than finding something.
private let targets: [String: @Sendable (UnsafeRawBufferPointer) -> Void] = [
    "http1": fuzzHTTP1, "http2": fuzzHTTP2,
    "http2-answers": fuzzHTTP2Answers, "json": fuzzJSON, "set-cookie": fuzzSetCookie,
    "cache-control": fuzzCacheControl, "www-authenticate": fuzzAuthenticate,
    "content-disposition": fuzzDisposition, "multipart": fuzzMultipart,
    "resume-data": fuzzResumeData, "url": fuzzURL,
]

private let chosen: @Sendable (UnsafeRawBufferPointer) -> Void = {
    let name = getenv("FERRY_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = targets[name] else {
        fatalError("FERRY_FUZZ_TARGET is none of \(targets.keys.sorted().joined(separator: ", "))")
    }
    return target
}()

/// libFuzzer's door: <https://llvm.org/docs/LibFuzzer.html>.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    chosen(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}

/// libFuzzer as a library.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ words: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// Where SwiftPM lets a program that is not optimised begin, whatever libFuzzer calls `main`.
@_cdecl("fuzz_main")
public func fuzzMain(
    _ count: CInt, _ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    var count = count
    var words = words
    return runFuzzer(&count, &words) { fuzzOneInput($0, $1) }
}

extension UnsafeRawBufferPointer {
    /// The input as text; bytes that are not UTF-8 become U+FFFD, as in a field's value.
    var text: String { String(decoding: self, as: UTF8.self) }
}
