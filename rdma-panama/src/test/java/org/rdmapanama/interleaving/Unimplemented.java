package org.rdmapanama.interleaving;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/** Completes abstract classes of which a test needs a few methods: the others throw. */
public final class Unimplemented {
    private Unimplemented() {}

    /**
     * A class that can be made.
     *
     * @param lookup of the package of the class
     * @param unfinished an abstract class with a constructor that takes nothing
     * @return the same, with methods that throw UnsupportedOperationException for those that are missing
     */
    public static <T> T complete(MethodHandles.Lookup lookup, Class<T> unfinished) {
        try {
            return unfinished.cast(lookup.findConstructor(
                            completed(lookup, unfinished), MethodType.methodType(void.class))
                    .invoke());
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static Class<?> completed(MethodHandles.Lookup lookup, Class<?> unfinished) throws IllegalAccessException {
        try {
            return lookup.findClass(unfinished.getName() + "$Complete");
        } catch (ClassNotFoundException notYet) {
            return lookup.defineClass(bytes(unfinished));
        }
    }

    private static byte[] bytes(Class<?> unfinished) {
        String parent = Type.getInternalName(unfinished);
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        writer.visit(Opcodes.V17, Opcodes.ACC_FINAL, parent + "$Complete", null, parent, null);
        MethodVisitor constructor = writer.visitMethod(0, "<init>", "()V", null, null);
        constructor.visitVarInsn(Opcodes.ALOAD, 0);
        constructor.visitMethodInsn(Opcodes.INVOKESPECIAL, parent, "<init>", "()V", false);
        constructor.visitInsn(Opcodes.RETURN);
        constructor.visitMaxs(0, 0);
        for (Class<?> each = unfinished; !each.equals(Object.class); each = each.getSuperclass()) {
            for (Method method : each.getDeclaredMethods()) {
                if (Modifier.isAbstract(method.getModifiers()) && !isImplemented(unfinished, each, method)) {
                    write(writer, method);
                }
            }
        }
        return writer.toByteArray();
    }

    private static boolean isImplemented(Class<?> from, Class<?> until, Method method) {
        for (Class<?> each = from; !each.equals(until); each = each.getSuperclass()) {
            for (Method known : each.getDeclaredMethods()) {
                if (known.getName().equals(method.getName())
                        && Arrays.equals(known.getParameterTypes(), method.getParameterTypes())) {
                    return true;
                }
            }
        }
        return false;
    }

    private static void write(ClassWriter writer, Method method) {
        String exception = Type.getInternalName(UnsupportedOperationException.class);
        MethodVisitor code = writer.visitMethod(
                Opcodes.ACC_PUBLIC, method.getName(), Type.getMethodDescriptor(method), null, null);
        code.visitTypeInsn(Opcodes.NEW, exception);
        code.visitInsn(Opcodes.DUP);
        code.visitLdcInsn(method.toString());
        code.visitMethodInsn(Opcodes.INVOKESPECIAL, exception, "<init>", "(Ljava/lang/String;)V", false);
        code.visitInsn(Opcodes.ATHROW);
        code.visitMaxs(0, 0);
    }
}
