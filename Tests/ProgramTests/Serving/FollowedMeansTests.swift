import Foundation
import TestSupport
import Testing

@testable import rankfs

/// The option `user_agent` as running mounts follow it.
@Suite struct FollowedMeansTests {
    /// What cannot be read tells nothing: neither another name nor that there is none.
    @Test(arguments: ["user_agent", "user_agent = Mine/2.0\nnonsense", "user_agent = ü", nil])
    func aMistakeInTheFileChangesNothing(text: String?) throws {
        let folder = TemporaryFolder()
        let path = "\(folder)/rankfs.conf"
        func write(_ text: String) throws { try text.write(toFile: path, atomically: true, encoding: .utf8) }
        try write("user_agent = Mine/1.0\n")
        let means = FollowedMeans(
            agent: "Mine/1.0", standard: "Standard/1.0", path: path, sessions: nil, site: "https://service.example")
        let first = means.look()
        #expect(first.userAgent == nil)
        if let text { try write(text) } else { try FileManager.default.removeItem(atPath: path) }
        #expect(means.look() == first)
        try write("user_agent = Mine/2.0\n")
        #expect(means.look().userAgent == "Mine/2.0")
        try write("# none\n")
        #expect(means.look().userAgent == "Standard/1.0" && means.look().mark != first.mark)
    }
}
