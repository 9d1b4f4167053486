internal import HTTP

/// What a route reads of the query: its parameters by name, `name.*` for all that begin so.
///
/// What is not named here is refused before the handler is called, so that a misspelt filter is
/// never taken for none, and a parameter that a handler reads cannot be forgotten here.
struct QueryNames: ExpressibleByArrayLiteral {
    private let names: [String]

    init(arrayLiteral names: String...) { self.names = names }

    /// Refuses a parameter that is not read, and one that is given twice.
    func check(_ request: Request) throws(Problem) {
        guard request.rawQuery?.isEmpty == false else { return }
        var given: Set<String> = []
        for (name, _) in request.query {
            guard names.contains(where: { QueryNames.matches(name, $0) }) else {
                throw unknown(name)
            }
            guard given.insert(name).inserted else { throw Call.invalid(name, "is given twice") }
        }
    }

    private static func matches(_ name: String, _ declared: String) -> Bool {
        declared.hasSuffix("*")
            ? name.hasPrefix(declared.dropLast()) && name.utf8.count >= declared.utf8.count
            : name == declared
    }

    private func unknown(_ name: String) -> Problem {
        let shown = String(name.prefix(QueryNames.shownLength))
        let hint =
            if names.isEmpty {
                "There are none here."
            } else if let near = NearestName.of(shown, in: names) {
                "Did you mean \(near)?"
            } else {
                "Known are \(names.joined(separator: ", "))."
            }
        return ProblemCode.unknownParameter
            .problem("The query parameter \(shown) is not known. \(hint)")
            .with(parameter: shown)
    }

    /// How much of a name is shown.
    private static let shownLength = 64
}
