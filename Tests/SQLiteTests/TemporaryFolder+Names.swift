import Foundation
import TestSupport

extension TemporaryFolder {
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}
