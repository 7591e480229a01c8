"""Problem 2 with a training loop written by hand, as in the answer that was published.

That answer zeroes the gradient in the step function, and finds the gradient with

    target_idx = model.trainable_variables.index(target_weights)

which crashes on Keras 3: `list.index` compares with ==, and there == of two variables compares their elements, so that
the first kernel in the list ends it ("Incompatible shapes: [4,4] vs. [4,3] [Op:Equal]"). Nor does a gradient of zero
hold a weight once the optimizer has a momentum of it, for instance when the freeze begins in mid-training. `fc.freeze`
finds the weight by identity, and holds it.

It runs on TensorFlow 1.15 to the newest.
"""

import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential

import freezecompat as fc

tf.compat.v1.enable_eager_execution()  # for TensorFlow 1; from 2.0 on it is the default

model = Sequential()
model.add(Dense(4, input_shape=(4,), activation="relu"))
model.add(Dense(3, name="hidden", activation="relu"))
model.add(Dense(2, activation="sigmoid"))

kernel = np.array(
    [
        [-0.05557871, 0.10941017, -0.59108734],
        [0.37056673, 0.2968588, 0.14362943],
        [-0.05471832, -0.21425706, 0.6455065],
        [-0.7883829, -0.23868048, -0.517396],
    ],
    dtype=np.float32,
)
model.layers[0].set_weights([np.eye(4), np.full(4, 0.5)])  # every unit of the layer below is active
model.layers[1].set_weights([kernel, np.ones(3)])

optimizer = tf.keras.optimizers.Adam()
loss_fn = tf.keras.losses.MeanSquaredError()

# Before the first call of train_step: a tf.function that is traced already can't be reached.
frozen = fc.freeze(model, {"hidden/kernel": [(1, 2), (3, 1)]}, optimizer=optimizer)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        predictions = model(x, training=True)
        loss = loss_fn(y, predictions)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


np.random.seed(0)
x_train = np.random.rand(100, 4).astype(np.float32)
y_train = np.random.rand(100, 2).astype(np.float32)

epochs = 10
for epoch in range(epochs):
    epoch_loss = 0.0
    for x, y in zip(x_train, y_train):
        x = tf.expand_dims(x, 0)  # Add batch dimension
        y = tf.expand_dims(y, 0)
        epoch_loss += train_step(x, y).numpy()
    print("Epoch {}, Loss: {:.4f}".format(epoch + 1, epoch_loss / len(x_train)))

trained = model.get_layer("hidden").get_weights()[0]
print("2nd row, 3rd column: {}".format(trained[1, 2]))
print("4th row, 2nd column: {}".format(trained[3, 1]))

assert trained[1, 2] == kernel[1, 2] and trained[3, 1] == kernel[3, 1]
assert np.argwhere(trained == kernel).tolist() == [[1, 2], [3, 1]], "every other element has been trained"
frozen.verify()
