internal import Glibc
internal import JSON

/// Options that a user wants always: `~/.config/ferry/config.json`.
///
/// An object with an object for each command, whose members are the command's options:
/// `{"get": {"directory": "/home/me/Downloads", "parallel": 3, "header": ["A: b"]}}`.
public struct CommandDefaults: Sendable {
    /// Where they are.
    public let path: String
    private let commands: [JSONValue.Member]

    /// The file of `$XDG_CONFIG_HOME/ferry`, else of `~/.config/ferry`; without one there are no
    /// defaults. Blocks.
    ///
    /// - Throws: `file`; `badArgument` for what is no such object.
    public static func read(environment: [String: String]) throws(ClientError) -> CommandDefaults {
        let folder: String
        if let config = environment["XDG_CONFIG_HOME"], config.hasPrefix("/") {
            folder = config
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            folder = home + "/.config"
        } else {
            return CommandDefaults(path: "", commands: [])
        }
        let path = folder + "/ferry/config.json"
        // The home of another user, as sudo and containers leave it: nothing in it is this one's.
        guard faccessat(AT_FDCWD, folder + "/ferry", X_OK, AT_EACCESS) == 0 || errno != EACCES
        else { return CommandDefaults(path: path, commands: []) }
        guard let bytes = try LocalFile.read(path, limit: 1 << 20, onlyOwn: false) else {
            return CommandDefaults(path: path, commands: [])
        }
        do {
            guard let commands = try JSONValue(parsing: bytes).object else {
                throw ClientError.badArgument("\(path): is no JSON object")
            }
            return CommandDefaults(path: path, commands: commands)
        } catch let error as ClientError {
            throw error
        } catch {
            throw .badArgument("\(path): \(error)")
        }
    }

    /// Refuses members that are no commands with defaults.
    ///
    /// - Parameter names: of those commands.
    /// - Throws: `badArgument`.
    public func requireCommands(among names: [String]) throws(ClientError) {
        guard let unknown = commands.first(where: { !names.contains($0.name) })?.name else {
            return
        }
        let near = CommandName.nearest(to: unknown, among: names)
        throw .badArgument(
            "\(path): there is no command '\(unknown)' that has defaults"
                + (near.map { ": did you mean '\($0)'?" } ?? ""))
    }

    /// The words of a command line with the defaults in front of what was typed, which outranks
    /// them.
    ///
    /// `options` are those of the command. `idle` tells which of them mean nothing, or would be
    /// refused, beside others that are given, by name and value: their defaults do not count.
    /// - Throws: `badArgument` for a default that is no option's value.
    public func applied(
        to arguments: [String], options: @autoclosure () -> CommandOptions,
        idle: (_ given: [String: String]) -> Set<String> = { _ in [] }
    ) throws(ClientError) -> [String] {
        guard let command = arguments.first,
            let members = commands.first(where: { $0.name == command })?.value
        else { return arguments }
        guard let members = members.object else {
            throw .badArgument("\(path): '\(command)' is no JSON object")
        }
        let options = options()
        let typed = options.typed(in: arguments.dropFirst())
        let idle = idle(typed)
        var words: [String] = []
        for member in members {
            guard let option = options.canonical(CommandDefaults.option(member.name)) else {
                throw .badArgument(
                    "\(path): `ferry \(command)` has no option '\(member.name)'")
            }
            let (name, opposite) = ("--" + option, options.canonical("no-" + option))
            // What was typed stands alone: lists would add up.
            if typed[option] != nil || opposite.map({ typed[$0] != nil }) ?? false { continue }
            if idle.contains(option) { continue }
            switch member.value.bool {
            case true?: words.append(name)
            case false?: if let opposite { words.append("--" + opposite) }
            case nil:
                for value in member.value.array ?? [member.value] {
                    guard
                        let text = value.string ?? value.int64.map({ String($0) })
                            ?? value.double.map({ "\($0)" })
                    else { throw .badArgument("\(path): '\(command).\(member.name)' is no value") }
                    words += ["\(name)=\(text)"]
                }
            }
        }
        return [command] + words + arguments.dropFirst()
    }

    /// `onComplete` → `on-complete`.
    private static func option(_ name: String) -> String {
        name.reduce(into: "") { option, letter in
            option += letter.isUppercase ? "-\(letter.lowercased())" : String(letter)
        }
    }
}
