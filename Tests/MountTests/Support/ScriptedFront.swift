import Foundation

/// `Tests/Wire/h2origin.py` before an origin: it speaks HTTP/2 and breaks it as it is told.
final class ScriptedFront {
    /// The options that lead a mount there, past where others lead it.
    let mountOptions: String
    private let workplace: Workplace
    private let control: String
    /// The script ends when this is closed, so that it outlives no test.
    private let life = Pipe()

    init(_ workplace: Workplace, before origin: OriginProcess) throws {
        self.workplace = workplace
        let folder = try TestCertificate.write(to: workplace.folder("scripted"))
        let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Wire/h2origin.py").path
        // Debian's python3, which has its modules.
        let child = try workplace.start(
            "/usr/bin/python3",
            [
                script, "--certificate", "\(folder)/leaf.pem", "--key", "\(folder)/leaf.pem", "--upstream",
                origin.direct,
            ],
            input: life.fileHandleForReading)
        guard poll({ child.outputText.hasSuffix("}\n") || !child.process.isRunning }),
            let ports = try JSONSerialization.jsonObject(with: Data(child.outputText.utf8)) as? [String: Int],
            let port = ports["port"], let controlPort = ports["control"]
        else { throw Failure("h2origin.py did not start: \(child.errorText)") }
        control = "http://127.0.0.1:\(controlPort)/_wire"
        let url = "https://127.0.0.1:\(port)"
        mountOptions = "api_url=\(url),image_url=\(url),ca_file=\(folder)/authority.pem"
    }

    /// Gives it rules and commands, one JSON object each.
    func tell(_ rules: [String]) throws {
        let file = workplace.directory.appending(path: "wire-rules")
        try "[\(rules.joined(separator: ","))]".write(to: file, atomically: true, encoding: .utf8)
        let output = try workplace.run("curl", "-sf", "--data-binary", "@\(file.path)", control)
        guard output.status == 0 else { throw Failure("h2origin.py does not take the rules: \(output.output)") }
    }
}
