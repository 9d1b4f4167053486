/// Where a command takes a password from that is on no command line.
public struct SecretSource {
    private let fromStandardInput: Bool
    private let client: GatewayClient

    /// The first line of standard input, or else the terminal; `client` moves while a person types.
    public init(fromStandardInput: Bool, client: GatewayClient) {
        self.fromStandardInput = fromStandardInput
        self.client = client
    }

    /// The secret; `variable` is where it could have been given.
    ///
    /// - Throws: `badArgument` where there is none, `interrupted`.
    public func secret(_ question: String, _ variable: String) throws(ClientError) -> String {
        if fromStandardInput {
            guard let line = readLine() else { throw .badArgument("standard input is empty") }
            return line
        }
        guard Prompt.isPossible else {
            throw .badArgument("no terminal to ask on: give --password-stdin, or set \(variable)")
        }
        let screen = Screen.standardError(environment: [:])
        let prompt = Prompt(input: 0, screen: screen)
        let answer = try prompt.line(question, echoes: false) { () throws(ClientError) in
            try client.turn(within: .zero)
            return true
        }
        guard let answer else { throw .interrupted }
        return answer
    }
}
