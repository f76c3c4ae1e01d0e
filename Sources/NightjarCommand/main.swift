import Glibc

do throws(UsageError) {
    let invocation = try Invocation(CommandLine.arguments)
    exit(Command(arguments: CommandLine.arguments).run(invocation))
} catch {
    Console.complain(error.message)
    Console.write(Invocation.usage, to: .error)
    exit(2)
}
