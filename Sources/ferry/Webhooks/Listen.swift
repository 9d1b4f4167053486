internal import ArgumentParser
internal import Client
internal import JSON
internal import Loop
internal import Semantics

extension Webhooks {
    /// `ferry webhooks listen`: a receiver for development.
    struct Listen: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Receive events here, and print them: for development.",
            discussion: """
                Makes a webhook for itself, and ends that with Ctrl-C. The gateway posts to loopback \
                only if it was told so: ferry serve --allow-destination 127.0.0.1/32.

                With FERRY_WEBHOOK_SECRET it makes none: it verifies what comes with that secret, \
                and refuses with 401 what was not signed with it.
                """)

        @Option(help: "The port on 127.0.0.1; 0 takes any that is free.")
        var port: UInt16 = 0

        @OptionGroup var choice: EventChoice

        @Flag(help: "Print each message as it came, one JSON object on a line.")
        var json = false

        @OptionGroup var gatewayOptions: GatewayOptions

        func run() async throws {
            LoopActor.loop.start()
            try await CommandLineIO.run(json: json) { () async throws(ClientError) in
                let printsJSON = json
                let receiver = await WebhookReceiver { (message) throws(ClientError) in
                    try Listen.show(message, asJSON: printsJSON)
                }
                // Before there is a webhook, which Ctrl-C has to take away again.
                await receiver.heed(Signals.ending)
                let address = try await receiver.listen(port: port)
                if let secret = try givenSecret() {
                    await receiver.receive(signedWith: secret)
                    Listen.say("Listening on http://\(address)/")
                    return try await receiver.close()
                }
                let client = try gatewayOptions.client()
                let made = try client.createWebhook(choice.order(for: "http://\(address)/"))
                let webhook = try RemoteWebhook(made)
                await receiver.receive(
                    signedWith: made["secret"]?.string.flatMap(WebhookSecret.init))
                Listen.say("Listening on http://\(address)/ as \(webhook.id)")
                do throws(ClientError) {
                    try await receiver.close()
                } catch {
                    try client.deleteWebhook(webhook.id)
                    throw error
                }
                try client.deleteWebhook(webhook.id)
            }
        }

        private func givenSecret() throws(ClientError) -> WebhookSecret? {
            guard let text = CommandLineIO.environment["FERRY_WEBHOOK_SECRET"] else { return nil }
            guard let secret = WebhookSecret(text) else {
                throw .badArgument("FERRY_WEBHOOK_SECRET: is not whsec_ and a key in base64")
            }
            return secret
        }

        private static func say(_ line: String) {
            Screen.standardError(environment: [:]).print(line)
        }

        @LoopActor
        private static func show(
            _ message: WebhookReceiver.Message, asJSON: Bool
        ) throws(ClientError) {
            guard message.isVerified else {
                return say("refused \(message.id): it was not signed with the secret")
            }
            guard !asJSON else {
                return try CommandLineIO.print(String(decoding: message.body, as: UTF8.self))
            }
            let value = try? JSONValue(parsing: message.body)
            let parts = [
                value?["timestamp"]?.string, value?["type"]?.string,
                value?["data"]?["task"]?.string ?? value?["data"]?["session"]?.string,
                message.id,
            ]
            try CommandLineIO.print(parts.compactMap { $0 }.joined(separator: "  "))
        }
    }
}
