import Foundation
import TestSupport

/// `Tests/Wire/h2origin.py` before an origin: it speaks HTTP/2 and breaks it as it is told.
final class ScriptedFront {
    /// The options that lead a mount there, past where others lead it.
    let mountOptions: String
    private let workplace: Workplace
    private let script: PythonScript
    private let control: String

    init(_ workplace: Workplace, before origin: OriginProcess) throws {
        self.workplace = workplace
        let certificates = try TestCertificates.made()
        script = try PythonScript(
            "Wire/h2origin.py",
            [
                "--certificate", certificates.path("good.pem"), "--key", certificates.path("good.key"), "--upstream",
                origin.direct,
            ])
        let ports = try JSONSerialization.jsonObject(with: script.greeting) as? [String: Int] ?? [:]
        guard let port = ports["port"], let controlPort = ports["control"] else { throw Failure("no ports") }
        control = "http://127.0.0.1:\(controlPort)/_wire"
        let url = "https://127.0.0.1:\(port)"
        mountOptions = "api_url=\(url),image_url=\(url),ca_file=\(certificates.authority)"
    }

    /// Gives it rules and commands, one JSON object each.
    func tell(_ rules: [String]) throws {
        let file = workplace.directory.appending(path: "wire-rules")
        try "[\(rules.joined(separator: ","))]".write(to: file, atomically: true, encoding: .utf8)
        let output = try workplace.run("curl", "-sf", "--data-binary", "@\(file.path)", control)
        guard output.status == 0 else { throw Failure("h2origin.py does not take the rules: \(output.output)") }
    }
}
