internal import HTTP

/// Which media types a client likes, by its `Accept` fields (RFC 9110 §12.5.1).
struct Accept {
    /// Ranges in lower case, such as `text/*`, with their weights.
    private var ranges: [(range: String, quality: Double)] = []

    /// Reads the fields' values; what is no media range is passed over. Parameters but the weight
    /// are not looked at.
    init(_ values: [String]) {
        for item in values.items() {
            let parts = item.split(separator: ";").map {
                String($0.filter { $0 != " " && $0 != "\t" }).lowercased()
            }
            guard let range = parts.first, range.contains("/") else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
            ranges.append((range, weight.flatMap { Double($0.dropFirst(2)) } ?? 1))
        }
    }

    /// Whether the first type is liked better than the second; not where nothing is said.
    func prefers(_ first: String, to second: String) -> Bool {
        quality(of: first) > quality(of: second)
    }

    /// 0…1: the weight of the most specific range that the type is in.
    private func quality(of type: String) -> Double {
        let anySubtype = type.prefix { $0 != "/" } + "/*"
        for range in [type, String(anySubtype), "*/*"] {
            if let found = ranges.first(where: { $0.range == range }) { return found.quality }
        }
        return 0
    }
}

extension Call {
    /// What the client likes to get.
    var accept: Accept { Accept(request.headers.values(of: "accept")) }
}
