internal import Engine
internal import JSON
internal import Semantics

/// A tenant as a client describes it (`TenantSpec` of openapi.yaml), or what of one is to change.
struct TenantDraft {
    /// How many hosts, or addresses, a list of a tenant has at most.
    private static let placeLimit = 200

    private(set) var name: String?
    private(set) var change = TenantChange()

    /// The members of a tenant that is to be made.
    init(new reader: inout JSONReader) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in
            if name == "name" {
                let text = try reader.string()
                guard TenantName.isValid(text) else {
                    throw reader.fail(
                        """
                        must be 1 to 63 lower-case letters, digits, "-", "_" and ".", the first of \
                        them a letter or digit
                        """)
                }
                self.name = text
            } else {
                try read(name, &reader)
            }
        }
        if self.name == nil { throw reader.fail("is missing", at: "name") }
    }

    /// The members of one that is to be changed.
    init(change reader: inout JSONReader) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in try read(name, &reader) }
    }

    private mutating func read(_ name: String, _ reader: inout JSONReader) throws(JSONError) {
        switch name {
        case "description": change.description = .some(try reader.clientDescription())
        case "quotas":
            try reader.object { reader, name throws(JSONError) in
                guard let quota = TenantQuotas.Quota(rawValue: name) else {
                    throw reader.unknownMember(name)
                }
                let limit = try reader.optionalInt64(in: 0...1_000_000_000_000_000)
                change.quotas[quota] = .some(limit)
            }
        case "egress": change.egress = try TenantDraft.narrowing(&reader)
        case "taskRetention":
            let seconds = try reader.optionalInt64(in: 60...315_360_000)
            change.taskRetention = .some(seconds.map { .seconds($0) })
        default: throw reader.unknownMember(name)
        }
    }

    /// The tenant that is asked for: what is not said of it is as usual.
    var spec: TenantSpec? {
        guard let name else { return nil }
        var spec = TenantSpec(name: name)
        spec.description = change.description ?? nil
        for (quota, limit) in change.quotas { spec.quotas[quota] = limit }
        spec.egress = change.egress ?? EgressNarrowing()
        spec.taskRetention = change.taskRetention ?? nil
        return spec
    }

    // MARK: Where it may go

    private static func narrowing(
        _ reader: inout JSONReader
    ) throws(JSONError) -> EgressNarrowing {
        var narrowing = EgressNarrowing()
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "allowedHosts": narrowing.allowedHosts = try optionalList(&reader, host)
            case "deniedHosts": narrowing.deniedHosts = try list(&reader, host)
            case "allowedAddresses":
                narrowing.allowedAddresses = try optionalList(&reader, destination)
            case "deniedAddresses": narrowing.deniedAddresses = try list(&reader, destination)
            default: throw reader.unknownMember(name)
            }
        }
        return narrowing
    }

    private static func optionalList<Place>(
        _ reader: inout JSONReader, _ read: (inout JSONReader) throws(JSONError) -> Place
    ) throws(JSONError) -> [Place]? {
        try reader.optional { reader throws(JSONError) in try list(&reader, read) }
    }

    private static func list<Place>(
        _ reader: inout JSONReader, _ read: (inout JSONReader) throws(JSONError) -> Place
    ) throws(JSONError) -> [Place] {
        var places: [Place] = []
        try reader.array(limit: placeLimit) { reader throws(JSONError) in
            places.append(try read(&reader))
        }
        return places
    }

    private static func host(_ reader: inout JSONReader) throws(JSONError) -> HostPattern {
        guard let pattern = HostPattern(try reader.string(byteLimit: 255)) else {
            throw reader.fail("must be the name of a host, or *. and what it ends with")
        }
        return pattern
    }

    private static func destination(
        _ reader: inout JSONReader
    ) throws(JSONError) -> AllowedDestination {
        let text = try reader.string(byteLimit: 64)
        do {
            return try AllowedDestination(parsing: text)
        } catch {
            throw reader.fail("must be an address or a block of them, and perhaps a port: \(error)")
        }
    }
}

/// A token as a client describes it (`TokenSpec` of openapi.yaml).
struct TokenDraft {
    private(set) var tenant = TenantName.ofOperator
    private(set) var scopes: Set<Scope> = []
    private(set) var expiresAt: Timestamp?
    private(set) var description: String?

    init(_ reader: inout JSONReader) throws(JSONError) {
        var hasTenant = false
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "tenant":
                tenant = try reader.string()
                hasTenant = true
            case "scopes":
                var scopes: Set<Scope> = []
                try reader.array(limit: Scope.allCases.count) { reader throws(JSONError) in
                    scopes.insert(try reader.choice())
                }
                guard !scopes.isEmpty else { throw reader.fail("must not be empty") }
                self.scopes = scopes
            case "expiresAt":
                expiresAt = try reader.optional { reader throws(JSONError) in
                    Timestamp(milliseconds: try reader.instant())
                }
            case "description": description = try reader.clientDescription()
            default: throw reader.unknownMember(name)
            }
        }
        if !hasTenant { throw reader.fail("is missing", at: "tenant") }
        if scopes.isEmpty { throw reader.fail("is missing", at: "scopes") }
    }
}
