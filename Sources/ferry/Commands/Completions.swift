internal import ArgumentParser
internal import Client

/// `ferry completions`: what a shell completes.
struct Completions: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print a script with which a shell completes commands and options.",
        discussion: """
            bash:  ferry completions bash > ~/.local/share/bash-completion/completions/ferry
            zsh:   ferry completions zsh > ~/.zfunc/_ferry   (with ~/.zfunc in $fpath)
            fish:  ferry completions fish > ~/.config/fish/completions/ferry.fish

            Exit status: 0 done; 64 wrong arguments.
            """)

    @Argument(help: "bash, zsh or fish.")
    var shell: Shell

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish

        var completion: CompletionShell {
            switch self {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        }
    }

    func run() throws {
        try CommandLineIO.run { () throws(ClientError) in
            try CommandLineIO.write(Ferry.completionScript(for: shell.completion) + "\n")
        }
    }
}
