internal import JSON
public import Semantics
internal import Syntax

/// What a client keeps of a download that has ended early, to go on with it in another task (S-34):
/// opaque to it, sealed, and of use to the same tenant only.
struct ResumeData: Equatable, Sendable {
    /// The request of the task that was to be.
    var request: RequestRecord
    /// What is here, and what it is a part of.
    var checkpoint: DownloadCheckpoint

    private static let version: Int64 = 1

    /// The blob: see `SealedResumeData`.
    func sealed(by sealer: any Sealer, for tenant: TenantID) throws(SealError) -> String {
        try SealedResumeData.text(sealing: json, by: sealer, for: tenant)
    }

    /// Reads a blob; nil where it is damaged, or another tenant's, or another gateway's.
    init?(
        _ blob: String, openedBy sealer: any Sealer, for tenant: TenantID,
        parse: (String) throws(URLRejection) -> WebURL
    ) {
        do {
            guard let json = try SealedResumeData.bytes(of: blob, openedBy: sealer, for: tenant)
            else { return nil }
            self = try JSONReader.read(json) { reader throws(JSONError) in
                try ResumeData(&reader, parse)
            }
        } catch {
            return nil
        }
    }

    init(request: RequestRecord, checkpoint: DownloadCheckpoint) {
        self.request = request
        self.checkpoint = checkpoint
    }

    private var json: [UInt8] {
        var json = JSONWriter()
        let point = checkpoint.point
        json.object { json in
            json.member("version", ResumeData.version)
            json.member("part", checkpoint.part.description)
            json.member("url", request.url.string)
            json.array("headers") { json in
                for field in request.headers.fields {
                    json.string(field.name)
                    json.string(field.value)
                }
            }
            json.member("sensitiveHeaders", request.sensitiveHeaders)
            json.member("timeoutInterval", request.timeoutInterval)
            if request.isForMirror { json.member("isForMirror", true) }
            json.member("tag", point.validators.tag?.description)
            json.member("date", point.validators.date)
            json.member("modified", point.validators.modified)
            json.member("total", point.total ?? unknownSize)
            json.array("received") { json in
                for range in point.received {
                    json.int(range.lowerBound)
                    json.int(range.upperBound)
                }
            }
        }
        return json.finish()
    }

    private init(
        _ reader: inout JSONReader, _ parse: (String) throws(URLRejection) -> WebURL
    ) throws(JSONError) {
        var part: TaskID?
        var url: WebURL?
        var headers = HeaderList()
        var sensitiveHeaders: [String] = []
        var timeoutInterval: Double?
        var isForMirror = false
        var (tag, date, modified): (EntityTag?, String?, String?) = (nil, nil, nil)
        var total = unknownSize
        var offsets: [Int64] = []
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "version":
                guard try reader.int64(in: 0 ... .max) == ResumeData.version else {
                    throw reader.fail("is of another version")
                }
            case "part": part = TaskID(try reader.string())
            case "url": url = try? parse(try reader.string())
            case "headers":
                var texts: [String] = []
                try reader.array { r throws(JSONError) in texts.append(try r.string()) }
                for index in stride(from: 0, to: texts.count - 1, by: 2) {
                    headers.append(texts[index], texts[index + 1])
                }
            case "sensitiveHeaders":
                try reader.array { r throws(JSONError) in sensitiveHeaders.append(try r.string()) }
            case "timeoutInterval":
                timeoutInterval = try reader.optional { r throws(JSONError) in
                    try r.double(in: 0...1e12)
                }
            case "isForMirror": isForMirror = try reader.bool()
            case "tag": tag = try reader.optionalString().flatMap(EntityTag.init)
            case "date": date = try reader.optionalString()
            case "modified": modified = try reader.optionalString()
            case "total": total = try reader.int64(in: -1 ... .max)
            case "received":
                try reader.array { r throws(JSONError) in
                    offsets.append(try r.int64(in: 0 ... .max))
                }
            default: throw reader.unknownMember(name)
            }
        }
        var received: [Range<Int64>] = []
        for index in stride(from: 0, to: offsets.count - 1, by: 2)
        where offsets[index] < offsets[index + 1] {
            received.append(offsets[index]..<offsets[index + 1])
        }
        let validators = EntityValidators(tag: tag, date: date, modified: modified)
        guard let part, let url,
            let entity = RangedEntity(
                validators: validators, total: total == unknownSize ? nil : total),
            let point = ResumePoint(entity: entity, received: received)
        else { throw reader.fail("is damaged") }
        var request = RequestRecord(
            url: url, headers: headers, sensitiveHeaders: sensitiveHeaders,
            timeoutInterval: timeoutInterval)
        request.isForMirror = isForMirror
        self.init(
            request: request,
            checkpoint: DownloadCheckpoint(point: point, part: part))
    }
}

extension TransferError {
    /// The member of `userInfo` that holds resume data, by Foundation's name (S-35).
    public static let resumeDataKey = "NSURLSessionDownloadTaskResumeData"
}

/// How resume data is sealed: as a client holds it, and as it stands in a task's error.
public enum SealedResumeData {
    /// Seals the bytes of resume data.
    ///
    /// - Returns: base64url (RFC 4648 §5) without padding.
    public static func text(
        sealing bytes: [UInt8], by sealer: any Sealer, for tenant: TenantID
    ) throws(SealError) -> String {
        Base64.url.text(of: try sealer.seal(bytes, for: context(of: tenant)))
    }

    /// Opens what `text(sealing:by:for:)` has made; nil where the text is no base64url.
    ///
    /// - Throws: `notAuthentic` for the blob of another tenant or gateway, and for a damaged one.
    public static func bytes(
        of text: String, openedBy sealer: any Sealer, for tenant: TenantID
    ) throws(SealError) -> [UInt8]? {
        guard let sealed = Base64.url.bytes(of: text) else { return nil }
        return try sealer.open(sealed, for: context(of: tenant))
    }

    private static func context(of tenant: TenantID) -> SealContext {
        SealContext(tenant: tenant, owner: 0, field: "resume data")
    }
}
