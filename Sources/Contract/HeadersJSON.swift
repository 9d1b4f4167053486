package import JSON
package import Semantics

/// What stands in answers and events in place of a sensitive value.
package let redacted = "<redacted>"

extension HeaderList {
    /// Writes an object; a name that stands more than once gets an array. Sensitive values are
    /// hidden.
    package func writeObject(to json: inout JSONWriter, hiding marked: [String]) {
        let sensitive = SensitiveNames(marking: marked)
        json.object { json in
            for (name, values) in byName {
                let shown = sensitive.contains(name) ? values.map { _ in redacted } : values
                if shown.count == 1 {
                    json.member(named: name, shown[0])
                } else {
                    json.member(named: name, shown)
                }
            }
        }
    }

    /// Writes an array of pairs, in order and as they came.
    package func writePairs(to json: inout JSONWriter) {
        json.array { json in
            // By index: an element of a loop would be copied.
            for index in fields.indices {
                json.array { json in
                    json.string(fields[index].name)
                    json.string(fields[index].value)
                }
            }
        }
    }
}
