internal import Loop

/// Answers one request, on the loop; whatever it throws, `Server`'s `failure` closure renders.
///
/// It is cancelled when the client goes away before there is an answer.
public typealias Handler = @LoopActor (Request) async throws -> Response

/// Answers a request without a body if that takes no waiting: cheaper than a `Handler` by the task
/// that it needs. Nil asks the handler.
public typealias ImmediateHandler = @LoopActor (Request) throws -> Response?

/// A method and a path, and who answers them. A class, so that a request that has come to it holds
/// one reference and not a dozen.
public final class Route: Sendable {
    /// The method, in capitals.
    public let method: String
    /// The path: literal segments and `{name}` for one that is a parameter, `/v1/tasks/{task}`.
    public let pattern: String
    /// How fast the body has to come; nil is `ServerLimits.bodyPace`.
    public let bodyPace: BodyPace?
    /// Who answers.
    public let handler: Handler
    /// Who is asked first.
    public let immediateHandler: ImmediateHandler?
    /// The parameters' names, and the index of the path segment that each stands for.
    let parameters: [(name: String, segment: Int)]
    let segments: [Segment]

    enum Segment: Equatable {
        case literal(String)
        case parameter
    }

    /// Makes a route. What is wrong with `pattern`, `Router` tells.
    public init(
        _ method: String, _ pattern: String, bodyPace: BodyPace? = nil,
        immediateHandler: ImmediateHandler? = nil, _ handler: @escaping Handler
    ) {
        self.immediateHandler = immediateHandler
        self.method = method
        self.pattern = pattern
        self.bodyPace = bodyPace
        self.handler = handler
        let parts =
            pattern == "/"
            ? [] : pattern.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let isParameter = { (part: Substring) in part.hasPrefix("{") && part.hasSuffix("}") }
        segments = parts.map { isParameter($0) ? .parameter : .literal(String($0)) }
        parameters = parts.enumerated().filter { isParameter($1) }
            .map { (name: String($1.dropFirst().dropLast()), segment: $0) }
    }
}
