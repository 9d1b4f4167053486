import Glibc

@testable import HTTP

/// A header and a chunked body are read the same way however they arrive.
@Sendable func fuzzHTTP1(_ input: UnsafeRawBufferPointer) {
    let whole = outcome(of: input, readFirst: nil)
    // Where a header arrives in two pieces is taken from the input itself.
    let first = input.isEmpty ? 0 : Int(input[input.count / 2]) % input.count
    precondition(outcome(of: input, readFirst: first) == whole, "a header in two pieces differs")
    precondition(
        decoded(input, in: input.count) == decoded(input, in: 1), "a body in pieces differs")
}

private func outcome(of input: UnsafeRawBufferPointer, readFirst first: Int?) -> String {
    let limits = ServerLimits()
    let head = RequestHead()
    var reader = HeadReader()
    var found = HeadReader.Outcome.incomplete
    for count in [first, input.count].compactMap({ $0 }) {
        found = reader.read(
            UnsafeRawBufferPointer(rebasing: input[..<count]), into: head, limits: limits)
        if case .incomplete = found { continue }
        break
    }
    switch found {
    case .incomplete: return "incomplete"
    case .refused(let problem): return "\(problem.status)"
    case .complete(let length):
        precondition(length <= input.count, "a header is longer than what has arrived")
        let fields = head.fields.map { "\(head.text($0.name)):\(head.text($0.value))" }
        let parts = [head.method, head.path, head.host].map(head.text)
        return "\(length) \(parts) \(fields) \(String(describing: head.bodyLength))"
    }
}

private func decoded(_ input: UnsafeRawBufferPointer, in pieceSize: Int) -> [UInt8] {
    let limits = ServerLimits()
    var reader = ChunkedReader()
    var output: [UInt8] = []
    var start = 0
    for end in stride(from: 0, to: input.count, by: max(1, pieceSize)) {
        let arrived = input[start..<min(input.count, end + pieceSize)]
        let (consumed, outcome) = reader.decode(
            UnsafeRawBufferPointer(rebasing: arrived), onto: &output, limit: .max, limits: limits)
        start += consumed
        if outcome != .more { return output + [outcome == .finished ? 1 : 2] }
    }
    return output
}
