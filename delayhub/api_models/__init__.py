"""What the API answers with, as frozen dataclasses: clients read it as these, sites show and describe it by them."""
