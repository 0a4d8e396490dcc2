import HTTP
import Rankings
import Sourcing
import Synchronization
import System

/// `rankfs doctor --service`: checks the assumptions of the program about the service with requests to it.
struct ServiceReport {
    var assumptions: [Assumption]
    var requests: Int

    /// The greatest number of requests, each try and redirect counted.
    static let mostRequests = 16
    /// The time limit of each request; a service that is slower is in trouble.
    private static let patience: Duration = .seconds(15)

    /// Sends the requests; blocks for some seconds, at most for a minute; not for tasks.
    ///
    /// - Parameters:
    ///   - context: The source and its settings.
    ///   - folder: The path of an empty folder for the answers, without personal data; nil if they are not kept.
    /// - Throws: One sentence with cause and remedy.
    init(_ context: DoctorContext, recording folder: String? = nil) throws(ProgramError) {
        let (settings, source) = (context.settings, context.source)
        if let reason = Self.hindrance(context) {
            (assumptions, requests) = ([Assumption("service", .unknown, "not asked: \(reason)")], 0)
            return
        }
        let transport = try Parts.makeTransport(settings, source: source, origin: nil, network: Self.patience)
        defer { transport.shutdown() }
        let client = HTTPClient(
            transport: Parts.makeQueue(transport, settings, source: source, place: context.place), policy: .once)
        let answers = Mutex<[Answer]>([])
        let sent: @Sendable () -> Int = { transport.requestCounts.reduce(0) { $0 + $1.counts.sent } }
        let means = SourceMeans(
            send: { request throws(Failure) in
                // The transport may try once more on a new connection.
                guard sent() + 2 <= Self.mostRequests else { throw .unsendable("Enough was asked.") }
                do throws(Failure) {
                    let response = try await client.send(request)
                    answers.withLock { $0.append((request, .success(response))) }
                    return response
                } catch {
                    answers.withLock { $0.append((request, .failure(error))) }
                    throw error
                }
            },
            apiURL: settings.apiURL?.text, imageURL: settings.imageURL?.text, wallClock: TimeSource.wallClock)
        let examiner = ServiceExaminer(source.plugIn, means, patience: Self.patience)
        let found = BlockingCall.wait { await examiner?.examine() ?? [] }
        if let folder {
            let recording = AnswerRecording(source.description, vocabulary: source.plugIn.vocabulary)
            try Self.record(answers.withLock { $0 }, in: folder, recording, source: source.description.name)
        }
        assumptions =
            Self.certificate("certificate of the API", context.apiURL, settings, isOwn: settings.apiURL != nil)
            + Self.certificate(
                "certificate of the image host", context.imageURL, settings, isOwn: settings.imageURL != nil) + found
        requests = sent()
    }

    /// The reason why no request is sent; nil if none is known.
    private static func hindrance(_ context: DoctorContext) -> String? {
        if context.settings.isOffline { return "no request may leave: leave offline=on out" }
        if let end = context.place.storedCoolDown(), end > TimeSource.wallClock() {
            return "the service asks to be left alone for another \(DisplayText.duration(end - TimeSource.wallClock()))"
        }
        return context.place.storedFronts(of: [context.apiURL, context.imageURL]).first.map { host, pause in
            context.source.frontSentence(host, pause, context.settings)
        }
    }

    /// One line on a host's certificate; none for a host that is used without TLS.
    private static func certificate(
        _ name: String, _ url: String, _ settings: Settings, isOwn: Bool
    ) -> [Assumption] {
        guard let origin = try? OriginURL(url), origin.text.hasPrefix("https://") else { return [] }
        do throws(Failure) {
            let certificate = try Certificates.ofHost(
                origin.origin, certificates: isOwn ? settings.certificates : nil, proxy: settings.proxy?.text ?? "",
                patience: patience)
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

    // MARK: - Texts

    /// Whether all assumptions hold.
    var isKept: Bool { assumptions.allSatisfy { $0.verdict == .kept } }

    private var rows: [Finding.Row] { assumptions.map { ($0.verdict.rawValue, $0.name, $0.text) } }

    /// One line per assumption, after a line with the version and the number of requests: to be pasted as it is.
    func text(isColoured: Bool) -> String {
        let lines = Finding.rows(rows, wordWidth: 9, isColoured: isColoured)
        return (["rankfs \(Version.text), \(requests.counted("request"))"] + lines).joined(separator: "\n")
    }

    /// The report as JSON, with sorted keys and a final newline.
    var json: String {
        let entries = Finding.json("assumption", rows)
        let document = JSON.members([
            ("assumptions", entries), ("requests", .integer(Int64(requests))), ("version", .string(Version.text)),
        ])
        return document.document(colon: " : ")
    }

    // MARK: - Record

    // The folder of `rankfs doctor --service --record`: one document per answer of the service, to be sent with a report.

    typealias Answer = (request: HTTPRequest, result: Result<HTTPResponse, Failure>)

    /// Creates the folder, private to its user.
    ///
    /// - Throws: One sentence if the folder cannot be created, or is not empty.
    static func makeFolder(_ path: String) throws(ProgramError) {
        let isEmpty: Bool
        do throws(SystemError) {
            try Directory.make(path)
            isEmpty = try LocalFiles.names(in: path).isEmpty
        } catch {
            throw .cannotCreate(
                "\(LogText.escaped(path)) cannot be used for --record: \(error.text); name another folder.")
        }
        guard isEmpty else { throw .usage("\(LogText.escaped(path)) is not empty: name another folder for --record.") }
    }

    /// Writes the answers to the folder, numbered in the order of their requests.
    static func record(
        _ answers: [Answer], in path: String, _ recording: AnswerRecording, source: String
    ) throws(ProgramError) {
        var recording = recording
        for (index, answer) in answers.enumerated() {
            let document = recording.document(of: answer.request, answer.result).document
            let name = "\(path)/\(source)-\(index < 9 ? "0" : "")\(index + 1).json"
            do throws(SystemError) { try Files.replace(name, with: Array(document.utf8)) } catch {
                throw .cannotCreate("\(LogText.escaped(name)) cannot be written: \(error.text).")
            }
        }
    }
}
