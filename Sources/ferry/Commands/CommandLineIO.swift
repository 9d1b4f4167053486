internal import ArgumentParser
internal import Client
internal import Foundation
internal import JSON

/// How the commands speak: results on standard output, progress and errors on standard error.
enum CommandLineIO {
    /// The process's environment; with the user's home, if the system knows one.
    static let environment = UserHome.completing(ProcessInfo.processInfo.environment)

    /// Writes one line to standard output at once, so that a script at the other end of a pipe sees
    /// it; a terminal obeys nothing in it.
    ///
    /// - Throws: `file`: a result that nobody gets is a failure.
    static func print(_ line: String) throws(ClientError) {
        let screen = Screen.standardOutput(environment: [:])
        screen.printResult(line)
        try screen.requireWritten()
    }

    /// Writes text to standard output as it is.
    ///
    /// - Throws: `file`.
    static func write(_ text: String) throws(ClientError) {
        try Screen.standardOutput(environment: [:]).write(text)
    }

    /// Writes a table to standard output, given the columns of a terminal; nil elsewhere.
    ///
    /// - Throws: `file`.
    static func print(_ lines: (_ width: Int?) -> [String]) throws(ClientError) {
        let screen = Screen.standardOutput(environment: environment)
        let rows = lines(screen.isLive ? screen.size.columns : nil)
        guard !rows.isEmpty else { return }
        try screen.write(rows.joined(separator: "\n") + "\n")
    }

    /// Writes one JSON object on a line to standard output.
    ///
    /// - Throws: `file`.
    static func print(members: (inout JSONWriter) -> Void) throws(ClientError) {
        var json = JSONWriter()
        json.object(members)
        try print(String(decoding: json.finish(), as: UTF8.self))
    }

    /// Writes JSON on a line to standard output.
    ///
    /// - Throws: `file`.
    static func print(_ json: JSONValue) throws(ClientError) {
        var writer = JSONWriter()
        writer.value(json)
        try print(String(decoding: writer.finish(), as: UTF8.self))
    }

    /// Runs a command's work; its error goes to standard error, with `json` as an object to
    /// standard output as well, and decides the exit status. What may be done about it is told for
    /// the `url` that the command is about.
    static func run(
        json: Bool = false, about url: String? = nil, _ work: () throws(ClientError) -> Void
    ) throws {
        do throws(ClientError) {
            try work()
        } catch {
            throw tell(error, json: json, about: url)
        }
    }

    /// As the other one, of work that waits for something else than the gateway.
    static func run(
        json: Bool = false, _ work: () async throws(ClientError) -> Void
    ) async throws {
        do throws(ClientError) {
            try await work()
        } catch {
            throw tell(error, json: json, about: nil)
        }
    }

    /// Does something about each of several things. One that is refused keeps none of the others
    /// from its turn; what keeps all of them ends it.
    ///
    /// - Parameters:
    ///   - items: the things, in their order.
    ///   - json: whether each error is told as an object too.
    ///   - areURLs: whether the things are; then the object names the URL.
    ///   - showsNames: whether standard error names what an error is about.
    ///   - name: what a thing is called.
    ///   - work: what is done.
    /// - Returns: The first error, whose exit status is that of the command.
    /// - Throws: `file`: a result that nobody gets is none of the thing's.
    static func runEach<Item>(
        of items: [Item], json: Bool = false, areURLs: Bool = false, showsNames: Bool = true,
        name: (Item) -> String, _ work: (Item) throws(ClientError) -> Void
    ) throws(ClientError) -> ClientError? {
        var first: ClientError?
        for item in items {
            do throws(ClientError) {
                try work(item)
            } catch {
                if case .file = error { throw error }
                let name = name(item)
                if json { try print(error.json(about: areURLs ? name : nil)) }
                complain(error, about: name, showsURL: showsNames)
                first = first ?? error
                guard error.isOfOne else { break }
            }
        }
        return first
    }

    private static func tell(
        _ error: ClientError, json: Bool, about url: String?
    ) -> ExitCode {
        if json {
            do throws(ClientError) {
                try print(error.json(about: url))
            } catch let lost {
                if lost != error { complain(lost) }
            }
        }
        complain(error, about: url)
        return ExitCode(error.exitStatus.rawValue)
    }

    /// Writes an error to standard error, and what to do about it.
    static func complain(
        _ error: ClientError, about url: String? = nil, showsURL: Bool = false
    ) {
        // Whoever has closed the pipe has seen enough, and wants to hear nothing of it.
        guard !error.isOfGoneReader else { return }
        let screen = Screen.standardError(environment: [:])
        let subject = showsURL ? url.map { DisplayText.line($0) + ": " } ?? "" : ""
        screen.print("ferry: \(subject)\(error)")
        if let remedy = error.remedy(for: url) {
            screen.print("       \(DisplayText.line(remedy))")
        }
    }
}
