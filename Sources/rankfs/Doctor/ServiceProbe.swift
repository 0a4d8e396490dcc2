import HTTP
import Posix
import Rankings
import Sourcing
import Synchronization

/// `rankfs doctor --service`: checks the assumptions of the program about the service with requests to it.
struct ServiceProbe {
    let settings: Settings
    let source: SourceName
    let place: CachePlace

    /// The greatest number of requests, each try and redirect counted.
    static let mostRequests = 12
    /// The time limit of each request; a service that is slower is in trouble.
    private static let patience: Duration = .seconds(15)

    /// The result of the checks.
    struct Report {
        var assumptions: [Assumption]
        var requests: Int
    }

    /// Sends the requests and returns the result; blocks for some seconds, at most for a minute; not for tasks.
    ///
    /// - Parameter folder: Receives the answers, without personal data.
    /// - Returns: The assumptions with their verdicts, and the number of requests.
    /// - Throws: One sentence with cause and remedy.
    func report(recording folder: RecordFolder? = nil) throws(ProgramError) -> Report {
        if settings.isOffline { return unasked("no request may leave: leave offline=on out") }
        if let end = place.storedCoolDown(), end > WallClock.now() {
            return unasked(
                "the service asks to be left alone for another \(DisplayText.duration(end - WallClock.now()))")
        }
        if let front = place.storedFronts(of: [apiURL, imageURL]).first {
            return unasked(Parts.frontSentence(front.key, front.value, settings, source: source))
        }
        let transport = try Parts.makeTransport(settings, source: source, origin: nil, network: Self.patience)
        defer { transport.shutdown() }
        let client = HTTPClient(transport: Parts.makeQueue(transport, settings, source: source), policy: .once)
        let found = Found()
        let sent: @Sendable () -> Int = { transport.requestCounts.reduce(0) { $0 + $1.counts.sent } }
        var means = ExaminationMeans(
            send: { request throws(HTTPError) in
                // The transport may try once more on a new connection.
                guard sent() + 2 <= Self.mostRequests else { throw .refused("Enough was asked.") }
                do throws(HTTPError) {
                    let response = try await client.send(request)
                    found.answers.withLock { $0.append((request, .success(response))) }
                    return response
                } catch {
                    found.answers.withLock { $0.append((request, .failure(error))) }
                    throw error
                }
            },
            gate: Parts.makeGate(settings, source: source, isDemo: false, place: place), apiURL: apiURL,
            imageURL: imageURL,
            now: WallClock.now(), patience: Self.patience)
        means.imageReplacement = settings.imageURL?.text
        BlockingCall.wait { [plugIn = source.plugIn, means] in
            let assumptions = await plugIn.examine(means)
            found.assumptions.withLock { $0 = assumptions ?? [] }
        }
        let recording = AnswerRecording(source.description, vocabulary: source.plugIn.vocabulary)
        try folder?.write(found.answers.withLock { $0 }, recording, source: source.description.name)
        let certificates =
            certificate("certificate of the API", apiURL, isOwn: settings.apiURL != nil)
            + certificate("certificate of the image host", imageURL, isOwn: settings.imageURL != nil)
        return Report(assumptions: certificates + found.assumptions.withLock { $0 }, requests: sent())
    }

    private var apiURL: String { settings.apiURL?.text ?? source.description.access.apiURL }
    private var imageURL: String { settings.imageURL?.text ?? source.description.access.imageURL }

    /// Results on their way from a task to the waiting thread.
    private final class Found: Sendable {
        let assumptions = Mutex<[Assumption]>([])
        let answers = Mutex<[RecordFolder.Answer]>([])
    }

    private func unasked(_ reason: String) -> Report {
        Report(assumptions: [Assumption("service", .unknown, "not asked: \(reason)")], requests: 0)
    }

    /// One line on a host's certificate; none for a host that is used without TLS.
    private func certificate(_ name: String, _ url: String, isOwn: Bool) -> [Assumption] {
        guard let origin = try? OriginURL(url), origin.text.hasPrefix("https://") else { return [] }
        do throws(HTTPError) {
            let certificate = try CertificateProbe.ask(
                origin.origin, certificates: isOwn ? settings.certificates : nil, proxy: settings.proxy?.text ?? "",
                patience: Self.patience)
            let text = certificate.map {
                "valid until \(LogText.escaped($0.end, limit: 80)), issued by \(LogText.escaped($0.issuer, limit: 200))"
            }
            return [Assumption(name, .kept, text ?? "valid; it does not tell until when")]
        } catch .untrusted {
            return [
                Assumption(name, .changed, "it is not in order: wrong, expired, not yet valid, or signed by a stranger")
            ]
        } catch {
            return [Assumption(name, .unknown, "the host cannot be asked for it")]
        }
    }
}

// MARK: - Texts

extension ServiceProbe.Report {
    /// Whether all assumptions hold.
    var isKept: Bool { assumptions.allSatisfy { $0.verdict == .kept } }

    /// One line per assumption, after a line with the version and the number of requests: to be pasted as it is.
    func text(isColoured: Bool) -> String {
        let width = assumptions.map(\.name.count).max() ?? 0
        let lines = assumptions.map { assumption in
            let word = assumption.verdict.rawValue
            let shown = isColoured ? "\u{1B}[\(assumption.verdict.colour)m\(word)\u{1B}[0m" : word
            return shown + String(repeating: " ", count: 9 - word.count) + assumption.name
                + String(repeating: " ", count: width - assumption.name.count + 2) + assumption.text
        }
        return (["rankfs \(Version.text), \(Counted.text(requests, "request"))"] + lines).joined(separator: "\n")
    }

    private struct Document: Encodable {
        struct Entry: Encodable {
            var assumption: String
            var verdict: Assumption.Verdict
            var text: String
        }

        var version: String
        var requests: Int
        var assumptions: [Entry]
    }

    /// The report as JSON, with sorted keys and a final newline.
    var json: String {
        DoctorCommand.json(
            Document(
                version: Version.text, requests: requests,
                assumptions: assumptions.map { .init(assumption: $0.name, verdict: $0.verdict, text: $0.text) }))
    }
}

extension Assumption.Verdict {
    /// The terminal's colour: green, red, yellow (ECMA-48).
    fileprivate var colour: Int {
        switch self {
        case .kept: 32
        case .changed: 31
        case .unknown: 33
        }
    }
}

// MARK: - Record folder

/// The folder of `rankfs doctor --service --record`: one document per answer of the service, to be sent with a report.
struct RecordFolder {
    typealias Answer = (request: HTTPRequest, result: Result<HTTPResponse, HTTPError>)

    private let path: String

    /// Creates the folder, private to its user.
    ///
    /// - Throws: One sentence if the folder cannot be created, or is not empty.
    init(_ path: String) throws(ProgramError) {
        self.path = path
        let isEmpty: Bool
        do throws(LocalFiles.Failure) {
            try LocalFiles.makeDirectories(path)
            isEmpty = try LocalFiles.isEmptyDirectory(path)
        } catch {
            throw ProgramError(
                .cannotCreate,
                "\(LogText.escaped(path)) cannot be used for --record: \(error.text); name another folder.")
        }
        guard isEmpty else {
            throw ProgramError(.usage, "\(LogText.escaped(path)) is not empty: name another folder for --record.")
        }
    }

    /// Writes the answers, numbered in the order of their requests.
    func write(_ answers: [Answer], _ recording: AnswerRecording, source: String) throws(ProgramError) {
        var recording = recording
        for (index, answer) in answers.enumerated() {
            let document = recording.document(of: answer.request, answer.result).document
            let name = "\(path)/\(source)-\(index < 9 ? "0" : "")\(index + 1).json"
            do throws(LocalFiles.Failure) { try LocalFiles.replace(name, with: Array(document.utf8)) } catch {
                throw ProgramError(.cannotCreate, "\(LogText.escaped(name)) cannot be written: \(error.text).")
            }
        }
    }

    /// The closing message to the user.
    var sentence: String {
        "the answers are in \(LogText.escaped(path)), with names, texts, addresses and pictures taken out: look at them, then send them."
    }
}
