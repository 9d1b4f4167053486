internal import Syntax

/// Finds the route of a request: a tree of path segments, literal ones before parameters.
public struct Router: Sendable {
    /// Why a set of routes is no router.
    public enum Failure: Error, Equatable {
        /// The pattern does not begin with a slash, or a method is not in capitals.
        case malformed(String)
        /// Two routes have the same method and match the same paths.
        case ambiguous(String, String)
    }

    /// All routes, in the order in which they were given.
    public let routes: [Route]
    private let root: Node

    /// Makes a router.
    ///
    /// - Throws: `Failure` when a route can never be reached, or is malformed.
    public init(_ routes: [Route]) throws(Failure) {
        self.routes = routes
        var root = Node()
        for (index, route) in routes.enumerated() {
            guard route.pattern.hasPrefix("/"), Router.methods.contains(route.method),
                Set(route.parameters.map(\.name)).count == route.parameters.count
            else { throw .malformed("\(route.method) \(route.pattern)") }
            if let other = root.insert(index, of: route, at: route.segments[...]) {
                throw .ambiguous(routes[other].pattern, route.pattern)
            }
        }
        root.settle()
        self.root = root
    }

    enum Resolution {
        /// A route, and its place among all.
        case route(Route, Int)
        /// OPTIONS of a path that has routes.
        case options(allow: String)
        case problem(Problem)

        var parameters: [(name: String, segment: Int)] {
            if case .route(let route, _) = self { route.parameters } else { [] }
        }

        var bodyPace: BodyPace? {
            if case .route(let route, _) = self { route.bodyPace } else { nil }
        }

        /// The route's place among all; nil where there is none.
        var route: Int? {
            if case .route(_, let index) = self { index } else { nil }
        }
    }

    private static let methods: Set = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE",
    ]

    /// Methods that are understood, though no route has them: 405 and not 501 (RFC 9110 §9.1).
    private static let understood = methods.union(["QUERY"])

    /// Finds who answers `head`: HEAD falls back to GET.
    func resolve(_ head: RequestHead) -> Resolution {
        let found = head.bytes.withUnsafeBytes { bytes in
            root.find(head.segments[...], in: bytes, isEncoded: head.isEncoded) { node in
                node.route(of: UnsafeRawBufferPointer(rebasing: bytes[head.method.range]))
            }
        }
        switch found {
        case .route(let index) where !head.isAsterisk: return .route(routes[index], index)
        default: break
        }
        let method = head.text(head.method)
        guard Router.understood.contains(method) else { return .problem(.notImplemented) }
        if head.isAsterisk {
            return .options(allow: Router.methods.sorted().joined(separator: ", "))
        }
        guard case .otherMethod(let allow) = found else { return .problem(.notFound) }
        return method == "OPTIONS"
            ? .options(allow: allow) : .problem(.methodNotAllowed(allow: allow))
    }
}

extension Router {
    /// What is known of a path.
    fileprivate enum Match {
        case none
        case otherMethod(allow: String)
        case route(Int)
    }

    /// A place in the tree of segments.
    fileprivate struct Node: Sendable {
        private var literals: [(text: [UInt8], node: Node)] = []
        /// At most one element: a struct cannot hold itself.
        private var parameter: [Node] = []
        private var methods: [(name: String, bytes: [UInt8], route: Int)] = []
        private var allow = ""

        /// Adds a route; the index of an equal one when there is one.
        mutating func insert(
            _ index: Int, of route: Route, at segments: ArraySlice<Route.Segment>
        ) -> Int? {
            switch segments.first {
            case nil:
                if let other = methods.first(where: { $0.name == route.method }) {
                    return other.route
                }
                methods.append((route.method, Array(route.method.utf8), index))
                return nil
            case .parameter:
                if parameter.isEmpty { parameter.append(Node()) }
                return parameter[0].insert(index, of: route, at: segments.dropFirst())
            case .literal(let text):
                let bytes = Array(text.utf8)
                let child = literals.firstIndex { $0.text == bytes } ?? literals.endIndex
                if child == literals.endIndex { literals.append((bytes, Node())) }
                return literals[child].node.insert(index, of: route, at: segments.dropFirst())
            }
        }

        /// Completes the tree once all routes are in it.
        mutating func settle() {
            for index in literals.indices { literals[index].node.settle() }
            for index in parameter.indices { parameter[index].settle() }
            var names = Set(methods.map(\.name))
            if names.contains("GET") { names.insert("HEAD") }
            if !names.isEmpty { names.insert("OPTIONS") }
            allow = names.sorted().joined(separator: ", ")
        }

        /// Walks down; where a literal leads to a path that has routes, no parameter stands for it.
        func find(
            _ segments: ArraySlice<ByteSpan>, in bytes: UnsafeRawBufferPointer, isEncoded: Bool,
            _ judge: (Node) -> Match
        ) -> Match {
            guard let segment = segments.first else { return judge(self) }
            let text = UnsafeRawBufferPointer(rebasing: bytes[segment.range])
            let rest = segments.dropFirst()
            for literal in literals where Node.isSame(text, literal.text, isEncoded: isEncoded) {
                let match = literal.node.find(rest, in: bytes, isEncoded: isEncoded, judge)
                if case .none = match { continue }
                return match
            }
            guard !text.isEmpty, let node = parameter.first else { return .none }
            return node.find(rest, in: bytes, isEncoded: isEncoded, judge)
        }

        /// The route of a method at this very place.
        func route(of method: UnsafeRawBufferPointer) -> Match {
            if methods.isEmpty { return .none }
            for candidate in methods where method.elementsEqual(candidate.bytes) {
                return .route(candidate.route)
            }
            if method.elementsEqual("HEAD".utf8),
                let get = methods.first(where: { $0.name == "GET" })
            {
                return .route(get.route)
            }
            return .otherMethod(allow: allow)
        }

        private static func isSame(
            _ segment: UnsafeRawBufferPointer, _ literal: [UInt8], isEncoded: Bool
        ) -> Bool {
            guard isEncoded else { return segment.elementsEqual(literal) }
            return PercentCoding.text(segment).utf8.elementsEqual(literal)
        }
    }
}
