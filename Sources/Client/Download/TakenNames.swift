internal import Synchronization

/// The files that the downloads of one command write: of several with the same name only the first
/// gets it, and none is lost. Any thread may use it.
///
/// Which of them is the first is told by their order in the command, not by who is faster, where
/// their URLs end alike; where servers or redirects make up the same name, by who has it first.
final class TakenNames: Sendable {
    private let urls: [String]
    private let endings: [String]
    private let state: Mutex<State>

    private struct State {
        /// Which download has a path.
        var holders: [String: Int] = [:]
        /// Which of them have their name, or will never have one.
        var areSettled: [Bool]
    }

    /// Of these downloads none has its name yet.
    ///
    /// - Parameter urls: what they fetch, in the order of the command.
    init(of urls: [String]) {
        self.urls = urls
        endings = urls.map(TakenNames.ending)
        state = Mutex(State(areSettled: Array(repeating: false, count: urls.count)))
    }

    /// Whether none before it, whose URL ends as its own does, is without a name still.
    fileprivate func isTurn(of index: Int) -> Bool {
        state.withLock { state in
            !(0..<index).contains { !state.areSettled[$0] && endings[$0] == endings[index] }
        }
    }

    /// Gives a path to a download; the same one may take it again.
    ///
    /// - Throws: `file` where another one has it.
    fileprivate func take(_ path: String, for index: Int) throws(ClientError) {
        let holder = state.withLock { state in
            let holder = state.holders[path] ?? index
            state.holders[path] = holder
            state.areSettled[index] = true
            return holder
        }
        guard holder != index else { return }
        throw .file(
            path: path,
            detail: """
                is the name of \(urls[holder]) in this command, too: fetch this one by a command of \
                its own, with another name by -o, or another folder by -d
                """)
    }

    /// It has ended, with a name or without.
    fileprivate func settle(_ index: Int) {
        state.withLock { $0.areSettled[index] = true }
    }

    /// The last component of a URL's path, as it is written.
    private static func ending(of url: String) -> String {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        let place = path.firstRange(of: "://").map { path[$0.upperBound...] } ?? path
        guard let slash = place.lastIndex(of: "/") else { return "" }
        return String(place[place.index(after: slash)...])
    }
}

/// The right of one download of a command to a name of its own.
struct NameClaim: Sendable {
    private let names: TakenNames
    private let index: Int

    /// The right of the download at this place in the command.
    init(_ names: TakenNames, _ index: Int) {
        self.names = names
        self.index = index
    }

    /// Whether it may take its name by now.
    var isTurn: Bool { names.isTurn(of: index) }

    /// Takes the path of its file.
    ///
    /// - Throws: `file` where another download of the command has that.
    func take(_ path: String) throws(ClientError) { try names.take(path, for: index) }

    /// Lets those behind it have their turn: it has ended.
    func settle() { names.settle(index) }
}
