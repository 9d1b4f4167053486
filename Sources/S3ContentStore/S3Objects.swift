internal import Engine
internal import JSON
internal import Loop
internal import Semantics
internal import Syntax

/// The objects of a bucket, by the calls that contents need.
/// <https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html>
@LoopActor
final class S3Objects {
    /// What is known of an object.
    struct Head: Sendable {
        /// In bytes.
        let length: Int64
        /// What changes with the bytes, with its quotes.
        let etag: String
    }

    /// An object that was listed.
    struct Listed: Sendable {
        let key: String
        let length: Int64
        /// Milliseconds since 1970.
        let modified: Int64
    }

    /// An upload that was begun.
    struct Upload: Sendable, Equatable {
        let key: String
        let identifier: String
        /// When, in milliseconds since 1970; 0 where that is not known.
        var begun: Int64 = 0
    }

    /// A part of an upload that S3 has.
    struct Part: Sendable {
        let number: Int
        let etag: String
    }

    /// What S3 says of an upload that was to be completed.
    enum Completion: String, Sendable {
        case made
        /// It has answered, but not with a result.
        case unclear
        /// There is no such upload: an answer was lost, or somebody has forgotten it.
        case gone
    }

    let client: S3Client
    private let digests: any Digests
    private let bucket: String
    /// How long what S3 says of an error may be.
    private static let errorLimit = 64 << 10
    /// Keys that one DeleteObjects may name.
    static let removalCount = 1000

    init(_ client: S3Client, bucket: String, digests: any Digests) {
        self.client = client
        self.bucket = bucket
        self.digests = digests
    }

    // MARK: Reading

    /// What there is of a key; nil where there is nothing.
    func head(_ key: String) async throws(S3Failure) -> Head? {
        do throws(S3Failure) {
            let answer = try await client.send(S3Request("HeadObject", "HEAD", key))
            guard let length = answer.headers.first("Content-Length").flatMap(Int64.init),
                length >= 0, let etag = answer.etag
            else { throw S3Failure("HeadObject", .refused, "There is no length or no tag.") }
            return Head(length: length, etag: etag)
        } catch  where error.kind == .missing {
            return nil
        } catch  where error.isUntold {
            try await tellWhy(key)
            throw error
        }
    }

    /// Asks for an object's first byte: in the answer S3 says why it has refused a HEAD.
    ///
    /// - Throws: `S3Failure`, where that passes, or waits for an operator.
    private func tellWhy(_ key: String) async throws(S3Failure) {
        var request = S3Request("GetObject", "GET", key)
        request.headers = [("range", "bytes=0-0")]
        request.answerLimit = Self.errorLimit
        do throws(S3Failure) {
            _ = try await client.send(request)
        } catch  where error.kind != .away && error.kind != .unusable && error.kind != .stopped {}
    }

    /// Bytes of an object, if it is still the same one; of one without a tag there is only one,
    /// which may be shorter by now.
    func read(
        _ key: String, _ etag: String?, from start: Int64, count: Int
    ) async throws(S3Failure) -> [UInt8] {
        var request = S3Request("GetObject", "GET", key)
        let end = start + Int64(count) - 1
        request.headers = [("range", "bytes=\(start)-\(end)")]
        if let etag { request.headers.append(("if-match", etag)) }
        request.answerLimit = max(count, Self.errorLimit)
        let answer = try await client.send(request)
        let range = answer.headers.first("Content-Range") ?? ""
        let stop = start + Int64(answer.body.count)
        let isShorter = etag == nil && stop <= end && range == "bytes \(start)-\(stop - 1)/\(stop)"
        let isAll = answer.body.count == count && range.hasPrefix("bytes \(start)-\(end)/")
        guard answer.status == 206, isAll || isShorter
        else { throw S3Failure("GetObject", .refused, "It answers with other bytes.") }
        return answer.body
    }

    /// A small object, whole; nil where there is none.
    func readWhole(_ key: String) async throws(S3Failure) -> [UInt8]? {
        var request = S3Request("GetObject", "GET", key)
        request.answerLimit = Self.errorLimit
        do throws(S3Failure) {
            return try await client.send(request).body
        } catch  where error.kind == .missing {
            return nil
        }
    }

    // MARK: Writing

    /// Makes an object; S3 holds the bytes against the digest that is signed with them.
    func put(_ key: String, _ bytes: [UInt8], digest: [UInt8]? = nil) async throws(S3Failure) {
        var request = S3Request("PutObject", "PUT", key)
        request.headers = [("content-type", "application/octet-stream")]
        request.body = bytes
        request.digest = digest
        _ = try await client.send(request, .upload)
    }

    /// Makes an object of another one of at most 5 GiB.
    func copy(_ source: String, _ head: Head, to key: String) async throws(S3Failure) {
        var request = S3Request("CopyObject", "PUT", key)
        request.headers = [
            ("x-amz-copy-source", "/\(bucket)/\(source)"),
            ("x-amz-copy-source-if-match", head.etag),
        ]
        request.isWorkOfS3 = true
        _ = try await client.send(request, .upload)
    }

    // MARK: Uploads in parts

    /// Begins an upload.
    func begin(_ key: String) async throws(S3Failure) -> Upload {
        var request = S3Request("CreateMultipartUpload", "POST", key)
        request.query = [("uploads", "")]
        request.headers = [("content-type", "application/octet-stream")]
        let answer = try await client.send(request, .upload)
        guard let identifier = answer.document?.text(of: "UploadId"), !identifier.isEmpty else {
            throw S3Failure("CreateMultipartUpload", .refused, "There is no UploadId.")
        }
        return Upload(key: key, identifier: identifier)
    }

    /// Adds a part.
    func put(
        _ bytes: [UInt8], digest: [UInt8], as number: Int, of upload: Upload
    ) async throws(S3Failure) -> Part {
        var request = S3Request("UploadPart", "PUT", upload.key)
        request.query = [("partNumber", "\(number)"), ("uploadId", upload.identifier)]
        request.body = bytes
        request.digest = digest
        let answer = try await client.send(request, .upload)
        guard let etag = answer.etag else {
            throw S3Failure("UploadPart", .refused, "There is no tag.")
        }
        return Part(number: number, etag: etag)
    }

    /// Adds bytes of another object as a part, if it is still the same one; of one without a tag
    /// there is only one.
    func copy(
        _ range: Range<Int64>, of source: String, _ etag: String?, as number: Int,
        of upload: Upload
    ) async throws(S3Failure) -> Part {
        var request = S3Request("UploadPartCopy", "PUT", upload.key)
        request.query = [("partNumber", "\(number)"), ("uploadId", upload.identifier)]
        request.headers = [
            ("x-amz-copy-source", "/\(bucket)/\(source)"),
            ("x-amz-copy-source-range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"),
        ]
        if let etag { request.headers.append(("x-amz-copy-source-if-match", etag)) }
        request.isWorkOfS3 = true
        let answer = try await client.send(request, .upload)
        guard let etag = answer.document?.text(of: "ETag") else {
            throw S3Failure("UploadPartCopy", .refused, "There is no tag.")
        }
        return Part(number: number, etag: etag)
    }

    /// Makes an object of the parts: from now on it is there.
    ///
    /// - Returns: what S3 says; where that is nothing, the object has to be looked at.
    func complete(_ upload: Upload, _ parts: [Part]) async throws(S3Failure) -> Completion {
        var request = S3Request("CompleteMultipartUpload", "POST", upload.key)
        request.query = [("uploadId", upload.identifier)]
        let list = parts.sorted { $0.number < $1.number }.map {
            "<Part><PartNumber>\($0.number)</PartNumber><ETag>\(XMLElement.escaped($0.etag))</ETag></Part>"
        }
        request.body = Array(
            "<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>".utf8)
        request.isWorkOfS3 = true
        do throws(S3Failure) {
            let answer = try await client.send(request, .upload)
            // S3 may say 200 before it knows the end; then the body is the error, which `send`
            // looks for.
            return answer.document?.name == "CompleteMultipartUploadResult" ? .made : .unclear
        } catch  where error.kind == .missing {
            return .gone
        }
    }

    /// Forgets an upload and its parts; one that is gone is fine too.
    func abort(_ upload: Upload) async throws(S3Failure) {
        var request = S3Request("AbortMultipartUpload", "DELETE", upload.key)
        request.query = [("uploadId", upload.identifier)]
        do throws(S3Failure) {
            _ = try await client.send(request)
        } catch  where error.kind == .missing {}
    }

    /// All uploads that were begun below a prefix, and are not complete.
    func uploads(below prefix: String) async throws(S3Failure) -> [Upload] {
        var uploads: [Upload] = []
        var marker: (key: String, upload: String)?
        while true {
            var request = S3Request("ListMultipartUploads", "GET")
            request.query = [("uploads", ""), ("prefix", prefix)]
            if let marker {
                request.query += [
                    ("key-marker", marker.key), ("upload-id-marker", marker.upload),
                ]
            }
            let list = try await client.send(request).document
            guard let list, list.name == "ListMultipartUploadsResult" else {
                throw S3Failure("ListMultipartUploads", .refused, "There is no list.")
            }
            for upload in list.all("Upload") {
                guard let key = upload.text(of: "Key"), key.hasPrefix(prefix),
                    let identifier = upload.text(of: "UploadId")
                else { continue }
                let begun = upload.text(of: "Initiated").flatMap(RFC3339.milliseconds) ?? 0
                uploads.append(Upload(key: key, identifier: identifier, begun: begun))
            }
            guard list.text(of: "IsTruncated") == "true" else { return uploads }
            guard let key = list.text(of: "NextKeyMarker"),
                let upload = list.text(of: "NextUploadIdMarker"),
                marker.map({ $0 != (key, upload) }) ?? true
            else {
                throw S3Failure("ListMultipartUploads", .refused, "The list does not go on.")
            }
            marker = (key, upload)
        }
    }

    // MARK: Lists and removal

    /// All objects below a prefix, or so many at least.
    func list(below prefix: String, limit: Int = .max) async throws(S3Failure) -> [Listed] {
        var objects: [Listed] = []
        var token: String?
        while true {
            var request = S3Request("ListObjectsV2", "GET")
            request.query = [("list-type", "2"), ("prefix", prefix)]
            if limit < 1000 { request.query.append(("max-keys", "\(limit)")) }
            if let token { request.query.append(("continuation-token", token)) }
            let list = try await client.send(request).document
            guard let list, list.name == "ListBucketResult" else {
                throw S3Failure("ListObjectsV2", .refused, "There is no list.")
            }
            for object in list.all("Contents") {
                guard let key = object.text(of: "Key"), key.hasPrefix(prefix),
                    let length = object.text(of: "Size").flatMap(Int64.init), length >= 0
                else { continue }
                let modified = object.text(of: "LastModified").flatMap(RFC3339.milliseconds) ?? 0
                objects.append(Listed(key: key, length: length, modified: modified))
            }
            guard list.text(of: "IsTruncated") == "true", objects.count < limit
            else { return objects }
            let next = list.text(of: "NextContinuationToken")
            guard let next, !next.isEmpty, next != token else {
                throw S3Failure("ListObjectsV2", .refused, "The list does not go on.")
            }
            token = next
        }
    }

    /// Removes objects; those that are not there are fine too.
    func remove(_ keys: [String]) async throws(S3Failure) {
        guard keys.count > 1 else {
            guard let key = keys.first else { return }
            do throws(S3Failure) {
                _ = try await client.send(S3Request("DeleteObject", "DELETE", key))
            } catch  where error.kind == .missing {}
            return
        }
        var failure: S3Failure?
        for start in stride(from: 0, to: keys.count, by: Self.removalCount) {
            let slice = keys[start..<min(keys.count, start + Self.removalCount)]
            do throws(S3Failure) {
                try await removeMany(Array(slice))
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Removes objects by one request, and by others those that S3 asks to come back with.
    private func removeMany(_ keys: [String]) async throws(S3Failure) {
        var left = keys
        var refusal: S3Failure?
        var tries = 0
        while true {
            tries += 1
            var passing: S3Failure?
            var again: Set<String> = []
            for (key, failure) in try await removeOnce(left) {
                guard failure.kind == .away else {
                    refusal = refusal ?? failure
                    continue
                }
                passing = passing ?? failure
                again.formUnion(key.map { [$0] } ?? left)
            }
            guard let passing else { break }
            guard tries < S3Client.Patience.reader.tries, !client.isStopped else {
                throw refusal ?? passing
            }
            await client.rest(after: tries)
            left = left.filter(again.contains)
            guard !left.isEmpty else { throw refusal ?? passing }
        }
        if let refusal { throw refusal }
    }

    /// - Returns: what stays, by its key where S3 names it, and why.
    private func removeOnce(
        _ keys: [String]
    ) async throws(S3Failure) -> [(key: String?, failure: S3Failure)] {
        var request = S3Request("DeleteObjects", "POST")
        request.query = [("delete", "")]
        let list = keys.map { "<Object><Key>\(XMLElement.escaped($0))</Key></Object>" }
        request.body = Array("<Delete><Quiet>true</Quiet>\(list.joined())</Delete>".utf8)
        // The one request for which S3 wants a digest of this kind.
        let digest = digests.hash(request.body, by: .md5)
        request.headers = [
            ("content-md5", Base64.standard.text(of: digest)), ("content-type", "application/xml"),
        ]
        let errors = try await client.send(request).document?.all("Error") ?? []
        return errors.compactMap { error in
            let failure = S3Failure("DeleteObjects", ofOneObject: error)
            return failure.kind == .missing ? nil : (error.text(of: "Key"), failure)
        }
    }
}
