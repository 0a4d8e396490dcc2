import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Signed in".
    @Suite struct SignInTests {
        /// Over TLS and HTTP/2: the origin refuses accounts in English what is asked without `lang`, as the service does.
        @Test func anAccountInEnglishSeesItsListsAndR18() async throws {
            try await withMount(signedIn: 1001) { workplace, origin, mount in
                #expect(try !mount.names("\(mount.path)/bookmarks/").isEmpty)
                #expect(try !mount.names("\(mount.path)/following").isEmpty)
                let restricted = try mount.picture(1, in: mount.day("daily_r18"))
                #expect(try read(restricted).get().starts(with: [0xff, 0xd8]))
                #expect(try mount.figures("sign_in")["state"] as? String == "signed_in")
                let asked = origin.apiRequests.filter { $0.path.hasPrefix("/ajax/") }
                #expect(asked.count >= 2 && asked.allSatisfy { $0.path.contains("lang=en") && $0.status == 200 })
                // R-18, bookmarks, followed authors: nothing else was asked to find out who this is.
                #expect(!origin.apiRequests.contains { $0.path.contains("limit=1&") })
            }
        }

        @Test func aSessionComesExpiresAndGoesWithoutATrace() async throws {
            try await withWorkplace { workplace in
                let secret = "Zq9XsecretXabc"
                let origin = try OriginProcess(workplace)
                let state = workplace.directory.appending(path: "state").path
                let login = { (words: [String]) in
                    try workplace.run(
                        ["env", "XDG_STATE_HOME=\(state)", Workplace.rankfs] + words
                            + ["-o", origin.mountOptions])
                }
                let mount = try Mount(workplace, of: origin, variables: ["XDG_STATE_HOME": state])
                let restricted = mount.day("daily_r18")
                #expect(try !mount.names("\(mount.path)/ranking").contains("daily_r18"))
                #expect(try workplace.run("ls", restricted).errors.contains("Permission denied"))
                let everybody = try mount.readable(mount.day())

                let jar = workplace.directory.appending(path: "cookies.txt")
                let line = ["127.0.0.1", "FALSE", "/", "FALSE", "0", "PHPSESSID", "1000_\(secret)"]
                try ("#HttpOnly_" + line.joined(separator: "\t") + "\r\n").write(
                    to: jar, atomically: true, encoding: .utf8)
                let signedIn = try login(["login", jar.path])
                #expect(signedIn.status == 0 && signedIn.output.contains("user 1000"), "\(signedIn.errors)")
                try FileManager.default.removeItem(at: jar)
                #expect(try mount.names("\(mount.path)/ranking").contains("daily_r18"))
                let picture = try mount.picture(1, in: restricted)
                let bytes = try read(picture).get()
                // A day that was opened before shows the account's works from now on.
                let own = try mount.readable(mount.day())
                #expect(own.count > everybody.count && Set(own).isSuperset(of: everybody))
                let further = try #require(own.first { !everybody.contains($0) })
                #expect(try read("\(mount.day())/\(further)").get().starts(with: [0xff, 0xd8]))

                try workplace.run("curl", "-sf", "-X", "POST", "\(origin.direct)/_control/expire-sessions")
                let unstored = mount.day("daily_r18", "2024-05-02")
                #expect(try workplace.run("ls", unstored).errors.contains("Permission denied"))
                #expect(try mount.names(mount.day("daily", "2024-05-02")).count > 90)
                #expect(try read(picture).get() == bytes)
                #expect(try mount.readable(mount.day()) == own)
                #expect(try mount.figures("sign_in")["state"] as? String == "expired")

                #expect(try login(["logout"]).output.contains("signed out"))
                // Under paths that the kernel knows, before anything is listed again.
                if case .failure(let refused) = read("\(mount.day())/\(further)") {
                    #expect([EACCES, ENOENT].contains(refused.errno))
                } else {
                    Issue.record("a picture that only the account saw is read")
                }
                #expect(try read("\(mount.day())/\(everybody[0])").get().starts(with: [0xff, 0xd8]))
                #expect(try !mount.names("\(mount.path)/ranking").contains("daily_r18"))
                #expect(try workplace.run("ls", restricted).errors.contains("Permission denied"))
                #expect(
                    try String(contentsOfFile: "/proc/\(mount.child.pid)/cmdline", encoding: .utf8).contains("mount"))
                #expect(mount.unmount())
                let found = try workplace.run("grep", "-rl", secret, workplace.directory.path)
                #expect(found.status == 1 && found.lines.isEmpty, "\(found.lines)")
            }
        }
    }
}
