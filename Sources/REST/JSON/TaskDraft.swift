internal import JSON
internal import Semantics

/// A task as a client describes it (`TaskSpec` of openapi.yaml), read but not judged.
struct TaskDraft {
    private(set) var type = TaskType.data
    private(set) var resume = false
    /// Nil only beside resume data.
    private(set) var request: RequestDraft?
    private(set) var body: BodyDraft?
    private(set) var resumeData: String?
    private(set) var options = TaskOptions()
    private(set) var expectedDigest: String?
    private(set) var mirrors: [String] = []
    private(set) var retry: RetryDraft?
    private(set) var destination: DestinationDraft?

    init(_ reader: inout JSONReader) throws(JSONError) {
        var hasType = false
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "type":
                type = try reader.choice()
                hasType = true
            case "resume": resume = try reader.bool()
            case "request": request = try RequestDraft(&reader)
            case "body":
                body = try reader.optional { r throws(JSONError) in try BodyDraft(&r) }
            case "resumeData":
                resumeData = try reader.optional { r throws(JSONError) in
                    try r.string(byteLimit: TaskDraft.resumeDataByteLimit)
                }
            case "expectedDigest": expectedDigest = try reader.optionalString()
            case "mirrors":
                try reader.array(limit: TaskDraft.mirrorLimit) { r throws(JSONError) in
                    mirrors.append(try r.urlText())
                }
            case "destination":
                destination = try reader.optional { r throws(JSONError) in
                    try DestinationDraft(&r)
                }
            case "retry":
                retry = try reader.optional { r throws(JSONError) in try RetryDraft(&r) }
            default: try readOption(name, &reader)
            }
        }
        if !hasType { throw reader.fail("is missing", at: "type") }
        if request == nil, resumeData == nil { throw reader.fail("is missing", at: "request") }
    }

    private mutating func readOption(
        _ name: String, _ reader: inout JSONReader
    ) throws(JSONError) {
        switch name {
        case "priority": options.priority = try reader.double(in: 0...1)
        case "description": options.description = try reader.clientDescription()
        case "delivery":
            guard let delivery = Delivery(rawValue: try reader.string()) else {
                throw reader.fail("must be \"collect\" or \"stream\"")
            }
            options.delivery = delivery
        case "fileName":
            options.fileName = try reader.optional { r throws(JSONError) in
                try r.string(byteLimit: SuggestedFilename.byteLimit)
            }
        case "computeDigest": options.computeDigest = try reader.bool()
        case "earliestBeginDate":
            options.earliestBeginDate = try reader.optional { r throws(JSONError) in
                Timestamp(milliseconds: try r.instant())
            }
        case "countOfBytesClientExpectsToSend":
            options.countOfBytesClientExpectsToSend = try reader.int64(in: unknownSize ... .max)
        case "countOfBytesClientExpectsToReceive":
            options.countOfBytesClientExpectsToReceive = try reader.int64(in: unknownSize ... .max)
        case "maximumBytesPerSecond":
            options.maximumBytesPerSecond = try reader.byteRate()
        case "connections": options.connections = try reader.int(in: 1...16)
        default: throw reader.unknownMember(name)
        }
    }

    private static let mirrorLimit = 16
    /// What the gateway makes is shorter: two thirds of it would be a request's and a response's
    /// largest header.
    private static let resumeDataByteLimit = 512 << 10
}
