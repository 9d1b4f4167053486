import Foundation

/// Secrets that are planted, to be looked for where they must not be.
struct Canaries {
    private(set) var all: [String] = []

    init(all: [String] = []) { self.all = all }

    /// A secret that is nobody else's.
    mutating func next(_ name: String) -> String {
        all.append("canary/\(name)+\(all.count)+0123456789")
        return all.last ?? ""
    }

    /// Which of the secrets are in a file of the folder, in one of the forms that a leak takes.
    func findings(in folder: String) throws -> [String] {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).map {
            try Data(contentsOf: URL(fileURLWithPath: folder + "/" + $0))
        }
        return all.filter { secret in
            let bytes = Data(secret.utf8)
            // Base64 of the middle, at each of the three offsets that it may have.
            let encoded = (0..<3).map { shift in
                Data(bytes.dropFirst(shift).prefix(18)).base64EncodedData()
            }
            let percent = Data(
                (secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? secret).utf8
            )
            return files.contains { file in
                ([bytes, percent] + encoded).contains { file.range(of: $0) != nil }
            }
        }
    }
}
