import Foundation
import TestSupport

/// An authority of the tests' own and what it signed for 127.0.0.1 and localhost, made once for all tests.
enum TestCertificate {
    /// Writes `authority.pem` and, with its key, `leaf.pem` into a folder, and returns that.
    @discardableResult
    static func write(to folder: String) throws -> String {
        guard let made = TestCertificates.shared else { throw Failure("openssl makes no certificates") }
        for (name, parts) in [("authority", ["authority.pem"]), ("leaf", ["good.pem", "good.key"])] {
            let text = try parts.map { try String(contentsOfFile: made.path($0), encoding: .utf8) }.joined()
            try text.write(toFile: "\(folder)/\(name).pem", atomically: true, encoding: .utf8)
        }
        return folder
    }
}
