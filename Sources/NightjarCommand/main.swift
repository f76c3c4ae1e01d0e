import CCommand
import NightjarSystem

njc_hold_standard_streams()
do throws(UsageError) {
    let arguments = Console.arguments
    let status = try Command(arguments: arguments).run(try Invocation(arguments))
    if status != 0 { Command.endByInterrupt() }
    exit(status)
} catch {
    Console.printError(error.message)
    Console.write(Invocation.usage, to: .error)
    exit(2)
}
