package import Engine
package import Semantics

extension DamagedTenant {
    /// What is known of a tenant whose row, of these columns, cannot be read: id, name, createdAt,
    /// isEnding, properties.
    package init(row: some StoredRow) {
        self.init(
            id: TenantID(rawValue: row.int64(0)),
            name: row.stringOrNil(1).flatMap { TenantName.isValid($0) ? $0 : nil },
            isEnding: row.int64(3) != 0)
    }
}

extension TenantRecord {
    /// The tenant in a row of these columns: id, name, createdAt, isEnding, properties.
    package init(row: some StoredRow) throws(StoreError) {
        let name = try row.string(1)
        guard TenantName.isValid(name) else { throw .damagedRecord }
        self.init(
            id: TenantID(rawValue: row.int64(0)), name: name, quotas: TenantQuotas([:]),
            createdAt: row.int64OrNil(2).map(Timestamp.init(milliseconds:)))
        isEnding = row.int64(3) != 0
        try read(RecordReader(row.bytes(4)))
    }

    private enum Field {
        static let description: UInt8 = 1
        static let quota: UInt8 = 2
        static let limit: UInt8 = 3
        static let taskRetention: UInt8 = 4
        static let narrowsHosts: UInt8 = 5
        static let allowedHost: UInt8 = 6
        static let deniedHost: UInt8 = 7
        static let narrowsAddresses: UInt8 = 8
        static let allowedAddress: UInt8 = 9
        static let deniedAddress: UInt8 = 10
    }

    /// Writes what is in no column of its own.
    package func write(to writer: inout RecordWriter) {
        writer.put(Field.description, description)
        for quota in TenantQuotas.Quota.allCases {
            guard let limit = quotas[quota] else { continue }
            writer.put(Field.quota, quota.rawValue)
            writer.put(Field.limit, limit)
        }
        writer.put(Field.taskRetention, taskRetention?.milliseconds)
        if let hosts = egress.allowedHosts {
            writer.put(Field.narrowsHosts, true)
            for host in hosts { writer.put(Field.allowedHost, host.description) }
        }
        for host in egress.deniedHosts { writer.put(Field.deniedHost, host.description) }
        if let addresses = egress.allowedAddresses {
            writer.put(Field.narrowsAddresses, true)
            for address in addresses { writer.put(Field.allowedAddress, address.description) }
        }
        for address in egress.deniedAddresses {
            writer.put(Field.deniedAddress, address.description)
        }
    }

    /// Reads what `write` has written.
    private mutating func read(_ reader: RecordReader) throws(StoreError) {
        var reader = reader
        var quota: TenantQuotas.Quota?
        while let field = try reader.next() {
            switch field {
            case Field.description: description = try reader.string()
            // One of a later version is none of ours.
            case Field.quota: quota = TenantQuotas.Quota(rawValue: try reader.string())
            case Field.limit:
                let limit = try reader.int64()
                if let quota { quotas[quota] = limit }
            case Field.taskRetention: taskRetention = .milliseconds(try reader.int64())
            case Field.narrowsHosts:
                if try reader.bool() { egress.allowedHosts = egress.allowedHosts ?? [] }
            case Field.allowedHost:
                egress.allowedHosts = (egress.allowedHosts ?? []) + [try reader.hostPattern()]
            case Field.deniedHost: egress.deniedHosts.append(try reader.hostPattern())
            case Field.narrowsAddresses:
                if try reader.bool() { egress.allowedAddresses = egress.allowedAddresses ?? [] }
            case Field.allowedAddress:
                egress.allowedAddresses =
                    (egress.allowedAddresses ?? []) + [try reader.destination()]
            case Field.deniedAddress: egress.deniedAddresses.append(try reader.destination())
            default: try reader.skip()
            }
        }
    }
}

extension RecordReader {
    fileprivate mutating func hostPattern() throws(StoreError) -> HostPattern {
        guard let pattern = HostPattern(try string()) else { throw .damagedRecord }
        return pattern
    }

    fileprivate mutating func destination() throws(StoreError) -> AllowedDestination {
        let text = try string()
        do {
            return try AllowedDestination(parsing: text)
        } catch {
            throw .damagedRecord
        }
    }
}
