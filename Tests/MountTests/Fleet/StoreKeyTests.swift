import Foundation
import TestSupport
import Testing

extension MountSuite {
    /// Keys of the tier's store that change while a machine is mounted, at a store that checks every signature
    /// (`Tests/Fleet/keys.py`).
    @Suite struct StoreKeyTests {
        private let script: PythonScript
        private let port: Int

        init() throws {
            script = try PythonScript("Fleet/keys.py")
            port = try #require(JSONDecoder().decode([String: Int].self, from: script.greeting)["port"])
        }

        private func set(_ id: String, _ token: String?, _ code: String = "InvalidAccessKeyId") throws {
            try script.tell(["id": id, "secret": "s/\(id)", "token": token ?? NSNull(), "code": code])
        }

        private func count(_ match: String) throws -> Int {
            try JSONDecoder().decode(Int.self, from: script.tell(["count": match]))
        }

        private func write(_ text: String, to path: String, mode: mode_t = 0o600) throws {
            try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
            chmod(path, mode)
        }

        /// The lines of a file with keys.
        private func lines(_ id: String) -> String {
            "[default]\naws_access_key_id = \(id)\naws_secret_access_key = s/\(id)\n"
        }

        /// The options of a tier there, with a file of keys.
        private func options(_ keys: String) -> String {
            "tier=s3://pool/home,tier_url=http://127.0.0.1:\(port),tier_keys=\(keys)"
        }

        /// Reads a further picture of a machine, and returns once it is at the store.
        private func bring(_ index: Int, _ mount: Mount) throws {
            let day = mount.day()
            let name = try mount.readable(day)[index]
            #expect(try !MountTests.read("\(day)/\(name)").get().isEmpty)
            let isThere = poll(upTo: 60) {
                let tier = try? mount.figures("tier")
                return tier?["waiting"] as? Int == 0 && tier?["uploads"] as? Int == index + 1
            }
            guard isThere else { throw Failure("still waiting: \(try mount.figures("tier"))") }
            #expect(try mount.figures("tier")["state"] as? String == "up")
        }

        /// An origin, and a file with the key that the store takes.
        private func withKey(
            _ body: @escaping @Sendable (Workplace, OriginProcess, _ keys: String) throws -> Void
        ) async throws {
            try await withWorkplace { workplace in
                let keys = workplace.directory.appending(path: "keys").path
                try set("AK1", nil)
                try write(lines("AK1"), to: keys)
                try body(workplace, try OriginProcess(workplace), keys)
            }
        }

        @Test func aFileThatChangesIsReadAgain() async throws {
            try await withKey { workplace, origin, keys in
                try script.tell(["owner": "123456789012"])
                let options = options(keys)
                let mount = try Mount(
                    workplace, of: origin, options: ["prefetch=0", options, "tier_owner=123456789012"])
                try bring(0, mount)
                #expect(try count(" 40[03]$") == 0)
                try set("AK2", nil)
                try write(lines("AK2"), to: keys)
                try bring(1, mount)
                #expect(try count("PUT .*home/pictures.* 200$") == 2)
                #expect(try workplace.rankfs("tier", "verify", "-o", options).status == 0)
                let other = try workplace.rankfs("tier", "info", "-o", options + ",tier_owner=210987654321")
                #expect(other.status == 69 && other.errors.contains("AccessDenied"), "\(other)")
            }
        }

        /// `LastModified` of a store that makes all objects older, by weeks that no test waits for.
        @Test func whatWasReadLongestAgoMakesRoom() async throws {
            try await withKey { workplace, origin, keys in
                let options = options(keys)
                func machine(_ name: String) throws -> Mount {
                    let cache = workplace.directory.appending(path: "cache-\(name)").path
                    return try Mount(
                        workplace, of: origin, options: ["prefetch=0", "cache_dir=\(cache)", options], named: name)
                }
                let first = try machine("first")
                for index in 0...2 { try bring(index, first) }
                #expect(first.unmount())
                try script.tell(["age": 8 * 86_400])
                let second = try machine("second")
                let name = try second.readable(second.day())[1]
                let picture = try MountTests.read("\(second.day())/\(name)").get()
                // It is copied onto itself there.
                #expect(poll(upTo: 20) { (try? count("PUT .*home/pictures.* 200$")) == 4 })
                try script.tell(["age": 3600])
                let trim = { (more: [String]) in
                    try workplace.run(
                        [Workplace.rankfs, "tier", "trim", "--keep", "\(picture.count)", "-o", options] + more)
                }
                let looked = try trim(["--dry-run"])
                #expect(
                    looked.output.hasPrefix("too much   2 pictures") && looked.output.contains("stays      1 picture,"))
                #expect(try trim([]).output.hasPrefix("removed    2 pictures"))
                let again = try trim([])
                #expect(again.status == 0 && again.output.hasPrefix("removed    0 pictures"), "\(again)")
                let third = try machine("third")
                let before = origin.requests.count
                #expect(try MountTests.read("\(third.day())/\(name)").get() == picture)
                #expect(origin.requests.dropFirst(before).allSatisfy { !$0.isPicture || $0.method != "GET" })
            }
        }

        @Test func aProgramGivesKeysThatEnd() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                let place = workplace.directory.path
                try write(
                    "[default]\ncredential_process = '\(place)/give it' \"\(place)/an answer\"\n", to: "\(place)/keys")
                try write("#!/bin/sh\necho hidden words >&2; exec cat \"$1\"\n", to: "\(place)/give it", mode: 0o700)
                let give = { (id: String) throws in
                    try self.set(id, "token of \(id)".replacing(" ", with: "+"), "ExpiredToken")
                    try self.write(
                        #"{"Version": 1, "AccessKeyId": "\#(id)", "SecretAccessKey": "s/\#(id)", "SessionToken": "token+of+\#(id)"}"#,
                        to: "\(place)/an answer")
                }
                try give("AK1")
                let log = "\(place)/log"
                let mount = try Mount(
                    workplace, of: origin,
                    options: ["prefetch=0", options("\(place)/keys"), "log=debug", "log_file=\(log)"])
                try bring(0, mount)
                try give("AK2")
                #expect(poll(upTo: 20) { (try? mount.status()["time"] as? Int) != nil })
                try bring(1, mount)
                #expect(try count(" 400$") > 0)
                let text = try String(contentsOfFile: log, encoding: .utf8)
                #expect(!text.contains("token+of") && !text.contains("hidden") && !text.contains("s/AK"))
            }
        }

        @Test(arguments: ["instance", "container"])
        func aRoleGivesKeysForAmazonsStoreAlone(_ kind: String) async throws {
            try await withWorkplace { workplace in
                try set("ROLE", "token")
                let proxy = "proxy=http://127.0.0.1:\(port)"
                let variables =
                    kind == "instance"
                    ? ["AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:\(port)"]
                    : [
                        "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:\(port)/container",
                        "AWS_CONTAINER_AUTHORIZATION_TOKEN=Bearer of the container",
                    ]
                func info(_ options: String, _ more: [String] = []) throws -> Output {
                    try workplace.run(
                        ["/usr/bin/env", "HOME=\(workplace.directory.path)"] + variables + more
                            + [
                                Workplace.rankfs, "tier", "info", "-o",
                                "tier=s3://pool/home,\(proxy)\(options)",
                            ])
                }
                let url = ",tier_url=http://s3.eu-west-1.amazonaws.com,tier_region=eu-west-1"
                for form in ["path", "host"] {
                    let found = try info("\(url),tier_form=\(form)")
                    #expect(found.status == 0 && found.output.contains("nothing is there"), "\(found)")
                }
                #expect(try count("GET pool[.]s3[.]eu-west-1[.]amazonaws[.]com .* 200$") == 1)
                let asked = try count("(latest|container)")
                #expect(asked > 0)
                // Another store does not get the token of a role, and a machine with keys does not look for one.
                let refused = try info(",tier_url=http://nas.local")
                #expect(refused.status == 78 && refused.errors.contains("there is no key"), "\(refused)")
                let named = ["AWS_ACCESS_KEY_ID=AK", "AWS_SECRET_ACCESS_KEY=wrong"]
                #expect(try info(url, named).status == 69)
                if kind == "instance" {
                    #expect(try info(url, ["AWS_EC2_METADATA_DISABLED=true"]).status == 78)
                }
                #expect(try count("(latest|container)") == asked)
                // The files of AWS's tools come before a role.
                try FileManager.default.createDirectory(
                    at: workplace.directory.appending(path: ".aws"), withIntermediateDirectories: true)
                try set("AK3", nil)
                let shared = workplace.directory.appending(path: ".aws/credentials").path
                try write("[other]\naws_access_key_id = x\n" + lines("AK3"), to: shared)
                #expect(try info(url).status == 0)
                #expect(try count("(latest|container)") == asked)
                chmod(shared, 0o622)
                #expect(try info(url).errors.contains("chmod 600"))
            }
        }
    }
}
