package import JSON
package import Semantics

extension StagedFile {
    /// The file as it is answered (`StagedFile` of openapi.yaml).
    package func write(to json: inout JSONWriter, expiresAt: Timestamp) {
        json.object { json in
            json.member("id", id)
            json.member("length", length)
            json.member("complete", isComplete)
            json.member("expectedLength", isComplete ? length : announcedLength ?? unknownSize)
            json.member("mediaType", mediaType)
            json.member("digest", expectedDigest?.description)
            json.member("createdAt", instant: createdAt.milliseconds)
            json.member("expiresAt", instant: expiresAt.milliseconds)
            json.object("links") { json in json.member("self", "/v1/files/\(id)") }
        }
    }
}
