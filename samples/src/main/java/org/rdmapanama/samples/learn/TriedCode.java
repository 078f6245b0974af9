package org.rdmapanama.samples.learn;

import java.io.IOException;
import java.io.Writer;
import java.lang.invoke.MethodHandles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.rdmapanama.samples.Failure;

/** Statements in files of a reader, which are compiled to an {@link Exercise} each. */
final class TriedCode {
    private static final String PACKAGE = "org.rdmapanama.samples.learn";
    private static final String IMPORTS = Stream.of(
                    "static java.lang.foreign.ValueLayout.*",
                    "static java.nio.charset.StandardCharsets.UTF_8",
                    "static org.rdmapanama.memory.AccessFlag.*",
                    "static " + PACKAGE + ".Lesson.LIMIT",
                    "java.lang.foreign.*",
                    "java.net.InetSocketAddress",
                    "java.nio.*",
                    "java.nio.channels.*",
                    "java.nio.channels.FileChannel.MapMode",
                    "java.nio.file.*",
                    "java.time.*",
                    "java.util.*",
                    "java.util.concurrent.*",
                    "java.util.zip.*",
                    "org.rdmapanama.*",
                    "org.rdmapanama.address.*",
                    "org.rdmapanama.cm.*",
                    "org.rdmapanama.completion.*",
                    "org.rdmapanama.device.*",
                    "org.rdmapanama.memory.*",
                    "org.rdmapanama.queue.*",
                    "org.rdmapanama.samples.*",
                    "org.rdmapanama.samples.today.*")
            .map(each -> "import " + each + ";")
            .collect(Collectors.joining());

    /** The virtual machine keeps classes, and each needs a name of its own. */
    private static final AtomicInteger CLASSES = new AtomicInteger();

    private static final String INDENT = "    ";

    private TriedCode() {}

    /** Says where the code of a reader has mistakes, with a paragraph for each. */
    static final class Mistakes extends Exception {
        private static final long serialVersionUID = 1L;

        private final int count;

        private Mistakes(List<String> paragraphs) {
            super(String.join(System.lineSeparator(), paragraphs));
            count = paragraphs.size();
        }

        int count() {
            return count;
        }
    }

    /** Compiles the statements in a file. */
    static Lesson.Body of(Path file) throws IOException, Mistakes {
        if (!Files.isRegularFile(file)) {
            throw new Failure("there is no file " + file + ": write the statements of an exercise into one");
        }
        Class<?> type = compile(List.of(file)).getFirst();
        return board -> {
            Exercise exercise = (Exercise) type.getDeclaredConstructor().newInstance();
            exercise.board = board;
            board.afterPackets(exercise::end);
            try {
                ((Step) exercise).run();
            } catch (InterruptedException e) {
                throw e;
            } catch (Exception e) {
                throw new Failure(failure(e, type, file), e);
            }
        };
    }

    /** Says at which line of the file something failed, and what. */
    private static String failure(Exception failure, Class<?> type, Path file) throws IOException {
        String what = failure instanceof Failure
                ? failure.getMessage()
                : failure.getClass().getSimpleName() + ": " + failure.getMessage();
        for (StackTraceElement each : failure.getStackTrace()) {
            if (each.getClassName().equals(type.getName())
                    || each.getClassName().startsWith(type.getName() + "$")) {
                String line =
                        Files.readAllLines(file).get(each.getLineNumber() - 1).strip();
                return file + ":" + each.getLineNumber() + ": '" + line + "' failed: " + what;
            }
        }
        return file + ": " + what;
    }

    /** Compiles the statements in each file to a class of its own. */
    static List<Class<?>> compile(List<Path> files) throws IOException, Mistakes {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        if (compiler == null) {
            throw new Failure("this Java has no compiler: set JAVA_HOME to a JDK");
        }
        Path folder = Files.createTempDirectory("exercise");
        try {
            return compile(compiler, files, folder);
        } finally {
            delete(folder);
        }
    }

    private static List<Class<?>> compile(JavaCompiler compiler, List<Path> files, Path folder)
            throws IOException, Mistakes {
        Path sources = Files.createDirectories(folder.resolve(PACKAGE.replace('.', '/')));
        Path classes = Files.createDirectory(folder.resolve("classes"));
        List<Path> wrapped = new ArrayList<>();
        for (Path file : files) {
            String name = "Tried" + CLASSES.incrementAndGet();
            wrapped.add(Files.writeString(sources.resolve(name + ".java"), source(name, Files.readString(file))));
        }
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(found, Locale.ROOT, null)) {
            boolean compiled = compiler.getTask(
                            Writer.nullWriter(),
                            manager,
                            found,
                            options(folder, classes),
                            null,
                            manager.getJavaFileObjectsFromPaths(wrapped))
                    .call();
            if (!compiled) {
                throw mistakes(found, wrapped, files);
            }
        }
        return define(classes, wrapped);
    }

    /** Everything that precedes the statements is on their first line, so that the compiler counts lines as the reader does. */
    private static String source(String name, String statements) {
        return "package " + PACKAGE + ";" + IMPORTS + "final class " + name
                + " extends Exercise implements Step { @Override public void run() throws Exception { "
                + statements + "\n}}\n";
    }

    private static List<String> options(Path folder, Path classes) {
        String modules = System.getProperty("jdk.module.path");
        List<String> options = new ArrayList<>(List.of("-d", classes.toString(), "-proc:none"));
        if (modules == null) {
            options.addAll(List.of("-classpath", System.getProperty("java.class.path")));
        } else {
            String module = TriedCode.class.getModule().getName();
            options.addAll(List.of("--module-path", modules, "--patch-module", module + "=" + folder));
        }
        return options;
    }

    private static Mistakes mistakes(DiagnosticCollector<JavaFileObject> found, List<Path> wrapped, List<Path> files)
            throws IOException {
        List<String> paragraphs = new ArrayList<>();
        for (Diagnostic<? extends JavaFileObject> each : found.getDiagnostics()) {
            if (each.getKind() == Diagnostic.Kind.ERROR) {
                int index = each.getSource() == null
                        ? -1
                        : wrapped.indexOf(Path.of(each.getSource().toUri()));
                paragraphs.add(index < 0 ? message(each) : mistake(each, files.get(index), wrapped.get(index)));
            }
        }
        return new Mistakes(paragraphs);
    }

    /** Returns the message, followed by the line and a mark below the place in it. */
    private static String mistake(Diagnostic<?> error, Path file, Path wrapped) throws IOException {
        int line = (int) error.getLineNumber();
        List<String> lines = Files.readAllLines(file);
        if (line < 1 || line > lines.size()) {
            // What is missing at the end of the file is noticed behind it.
            return file + ": " + message(error);
        }
        String text = lines.get(line - 1);
        String source = Files.readString(wrapped);
        int start = source.lastIndexOf('\n', (int) error.getPosition() - 1) + 1;
        // The first line has more in front of it.
        int before = line == 1 ? source.indexOf('\n') - lines.getFirst().length() : 0;
        int column = Math.clamp(error.getPosition() - start - before, 0, text.length());
        String newLine = System.lineSeparator();
        return file + ":" + line + ": " + message(error) + newLine + INDENT + text + newLine + INDENT
                + text.substring(0, column).replaceAll("[^\\t]", " ") + "^";
    }

    /** Returns the message without the location, which is always the class around the statements. */
    private static String message(Diagnostic<?> error) {
        return error.getMessage(Locale.ROOT)
                .replaceAll("\\R *location: class .*Tried\\d+.*", "")
                .replaceAll("\\R *symbol: +", ": ")
                .replaceAll(";?\\R *", "; ")
                .replaceAll(" +", " ");
    }

    /** Puts the classes into this package, where they may use the classes of the lessons. */
    private static List<Class<?>> define(Path classes, List<Path> wrapped) throws IOException {
        List<Class<?>> main = new ArrayList<>();
        List<Path> compiled;
        try (Stream<Path> all = Files.walk(classes)) {
            compiled = all.filter(Files::isRegularFile).sorted().toList();
        }
        List<String> names = wrapped.stream()
                .map(each -> each.getFileName().toString().replace(".java", ""))
                .toList();
        for (Path each : compiled) {
            try {
                Class<?> type = MethodHandles.lookup().defineClass(Files.readAllBytes(each));
                if (names.contains(type.getSimpleName())) {
                    main.add(type);
                }
            } catch (IllegalAccessException e) {
                throw new IllegalStateException("a class of another package: " + each, e);
            }
        }
        main.sort(Comparator.comparing(type -> names.indexOf(type.getSimpleName())));
        return main;
    }

    private static void delete(Path folder) throws IOException {
        List<Path> all;
        try (Stream<Path> walk = Files.walk(folder)) {
            all = walk.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path each : all) {
            Files.delete(each);
        }
    }
}
