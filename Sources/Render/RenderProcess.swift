import Glibc
import Posix

/// The process that decodes pictures, as seen from outside: a socket, and a number to end it by.
///
/// ## Concurrency
///
/// One thread at a time gives it jobs and ends it. Any thread may `kill` it before that.
final class RenderProcess: Sendable {
    /// What keeps it from doing anything else.
    let protection: Protection
    let process: Int32
    private let channel: Channel

    static let program = "rankfs-render"
    /// To be there, on a machine that is busy.
    private static let startPatience: Duration = .seconds(20)
    /// Starts it and waits until it is ready.
    ///
    /// It has the socket, `/dev/null` and nothing else: no environment, no other descriptor.
    init(_ path: String) throws(MediaError) {
        let other: Channel
        do throws(SystemError) {
            (channel, other) = try Channel.pair()
        } catch { throw .unavailable("no socket can be made: \(error.text)") }
        do throws(SystemError) {
            defer { other.close() }
            let null = Descriptors.own.open("/dev/null", O_RDWR)
            defer { close(null) }
            process = try ChildProcess.start(
                path, [Self.program], inheriting: [other.descriptor], errors: null, environment: [])
        } catch {
            channel.close()
            throw .unavailable("\(path): \(error.text)")
        }
        do throws(Channel.Failure) {
            let greeting = try channel.receive(upTo: Protection.greetingLength, by: .now + Self.startPatience)
            guard let protection = Protection(greeting: greeting) else { throw .tooLong }
            self.protection = protection
        } catch {
            Self.end(process, channel)
            throw .unavailable("\(path) \(Self.said(error)) before it was ready")
        }
    }

    /// Gives it a job and waits for the answer.
    ///
    /// - Throws: `.lost`, after which it must be ended.
    func perform(
        _ job: RenderJob, with descriptor: Int32?, by deadline: ContinuousClock.Instant
    ) throws(MediaError) -> RenderAnswer {
        do throws(Channel.Failure) {
            try channel.send(job.message, with: descriptor, by: deadline)
            let message = try channel.receive(upTo: job.longestAnswer, by: deadline)
            if let answer = RenderAnswer(message: message, to: job) { return answer }
        } catch { throw .lost("\(Self.said(error)) at it") }
        throw .lost("answered nonsense")
    }

    /// Ends it without waiting for that.
    func kill() {
        Glibc.kill(process, SIGKILL)
    }

    /// Ends it, whatever it is doing, and waits until it is gone; once.
    func end() {
        Self.end(process, channel)
    }

    private static func end(_ process: Int32, _ channel: Channel) {
        Glibc.kill(process, SIGKILL)
        _ = ChildProcess.wait(for: process)
        channel.close()
    }

    private static func said(_ failure: Channel.Failure) -> String {
        switch failure {
        case .ended: "ended"
        case .tooSlow: "took too long"
        case .tooLong: "answered nonsense"
        case .system(let error): "could not be talked to (\(error.text))"
        }
    }
}
